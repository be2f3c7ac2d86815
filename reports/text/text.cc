// SPDX-License-Identifier: Apache-2.0
#include "reports/text/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
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

std::string with_unit(std::string_view label, std::string_view unit) {
  return fmt::format("{}{}{}", label, unit.empty() ? "" : ", ", unit);
}

std::string large_number_text(double value) {
  static constexpr std::array<TextScale, 3> kScales{
      {{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}}};
  for (const TextScale& scale : kScales) {
    if (value >= scale.factor) {
      return fmt::format("{} {}", number_text(value / scale.factor, 2), scale.unit);
    }
  }
  return number_text(value, 3);
}

std::string verb_for(std::int64_t count, std::string_view plural) {
  std::string verb(plural);
  if (count == 1) verb += plural.ends_with("sh") ? "es" : "s";
  return verb;
}

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlainSigns = "-_./=,:+%@^";
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kPlainSigns.find(c) != std::string_view::npos;
  });
  return plain ? std::string(text) : "'" + replaced(text, "'", "'\\''") + "'";
}

std::string spoken(std::string_view name) { return replaced(name, "_", " "); }

}  // namespace meshwright::reports
