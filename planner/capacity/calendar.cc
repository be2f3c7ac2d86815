// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/calendar.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace meshwright::planner {
namespace {

constexpr int kFirstYear = 1970;
constexpr int kLastYear = 2200;

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::optional<Date> date_from_text(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number_of(text.substr(0, 4));
  const auto month = number_of(text.substr(5, 2));
  const auto day = number_of(text.substr(8, 2));
  if (!year || !month || !day || *year < kFirstYear || *year > kLastYear) return std::nullopt;
  const Date date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                  std::chrono::day(static_cast<unsigned>(*day))};
  return date.ok() ? std::optional(date) : std::nullopt;
}

std::string date_text(const Date& date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

double days_between(const Date& first, const Date& other) {
  return static_cast<double>((std::chrono::sys_days(other) - std::chrono::sys_days(first)).count());
}

Date date_after(const Date& first, double days) {
  constexpr double kMost = 1e6;  // some 2,700 years
  const double whole = std::floor(std::clamp(days, -kMost, kMost));
  return std::chrono::sys_days(first) + std::chrono::days(static_cast<int>(whole));
}

Date last_day(const Date& first, double days) {
  constexpr double kMost = 1e6;  // some 2,700 years
  const double whole = std::max(1.0, std::ceil(std::min(days, kMost)));
  return std::chrono::sys_days(first) + std::chrono::days(static_cast<int>(whole) - 1);
}

}  // namespace meshwright::planner
