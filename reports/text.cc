// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "sim/base/text.h"

namespace meshwright::reports {
namespace {

// The largest scale that leaves a number of at least one; the last when all are too large.
std::string scaled(double value, std::span<const TextScale> largest_first, int digits) {
  const double magnitude = std::abs(value);
  for (const TextScale& scale : largest_first) {
    if (magnitude >= scale.factor) {
      return fmt::format("{} {}", significant(value / scale.factor, digits), scale.unit);
    }
  }
  const TextScale& last = largest_first.back();
  return fmt::format("{} {}", significant(value / last.factor, digits), last.unit);
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return "not a number";
  if (value == 0.0) return "0";
  const double magnitude = std::abs(value);
  if (magnitude < 1e-4 || magnitude >= 1e6) return fmt::format("{:.{}e}", value, digits - 1);
  // The exponent after rounding: 99.999 has three whole digits in four.
  const std::string rounded = fmt::format("{:.{}e}", magnitude, digits - 1);
  const int whole_digits = std::stoi(rounded.substr(rounded.find('e') + 1)) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - whole_digits));
}

std::string count_text(std::int64_t count) {
  const std::string digits = std::to_string(count);
  const std::size_t first_digit = count < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::size_t left = digits.size() - i;
    if (i > first_digit && left % 3 == 0) text.push_back(',');
    text.push_back(digits[i]);
  }
  return text;
}

std::string seconds_text(Seconds time) {
  return time.value() == 0.0 ? "0 s" : scaled(time.value(), kSecondsScales, kSecondsDigits);
}

std::string duration_text(Seconds time) {
  // A unit is taken from two of it on: "36 hours" says more than "1.5 days".
  static constexpr std::array<TextScale, 3> kScales{
      {{86400.0, "days"}, {3600.0, "hours"}, {60.0, "minutes"}}};
  for (const TextScale& scale : kScales) {
    if (time.value() < 2.0 * scale.factor) continue;
    return fmt::format("{} {}", significant(time.value() / scale.factor, 3), scale.unit);
  }
  return fmt::format("{} s", significant(time.value(), 3));
}

std::string traffic_text(Bytes amount) {
  return amount.value() == 0.0 ? "0 B" : scaled(amount.value(), kTrafficScales, kTrafficDigits);
}

std::string memory_text(Bytes amount) {
  return amount.value() == 0.0 ? "0 B" : scaled(amount.value(), kMemoryScales, kMemoryDigits);
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", share * 100.0); }

std::string si_text(double value, int digits) {
  static constexpr std::array<TextScale, 5> kScales{
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1.0, ""}}};
  return trimmed_right(value == 0.0 ? "0" : scaled(value, kScales, digits));
}

std::string verb_for(std::int64_t count, std::string_view plural) {
  std::string verb(plural);
  if (count == 1) verb += plural.ends_with("sh") ? "es" : "s";
  return verb;
}

}  // namespace meshwright::reports
