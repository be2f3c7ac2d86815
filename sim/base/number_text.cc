// SPDX-License-Identifier: Apache-2.0
#include "sim/base/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace meshwright {
namespace {

std::string with_separators(std::string number) {
  const std::size_t first = number.starts_with('-') ? 1 : 0;
  for (std::size_t at = std::min(number.find('.'), number.size()); at > first + 3;) {
    at -= 3;
    number.insert(at, 1, ',');
  }
  return number;
}

// The power of ten of the first digit, after rounding to so many digits: 99.999 in four has 2.
int exponent_of(double magnitude, int digits) {
  const std::string rounded = fmt::format("{:.{}e}", magnitude, digits - 1);
  return std::stoi(rounded.substr(rounded.find('e') + 1));
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return "not a number";
  if (value == 0.0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4) return "~0";
  const int exponent = exponent_of(magnitude, digits);
  if (exponent >= 15) {
    return fmt::format("{:.{}f} x 10^{}", value / std::pow(10.0, exponent), digits - 1, exponent);
  }
  return with_separators(fmt::format("{:.{}f}", value, std::max(0, digits - exponent - 1)));
}

std::string number_text(double value, int digits) {
  std::string text = significant(value, digits);
  if (text.find('.') == std::string::npos || text.find('^') != std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string signed_number_text(double value, int digits) {
  const std::string text = number_text(value, digits);
  if (text == "~0") return "+0";
  return text.starts_with('-') ? text : "+" + text;
}

std::string count_text(std::int64_t count) { return with_separators(std::to_string(count)); }

}  // namespace meshwright
