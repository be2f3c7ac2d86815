// SPDX-License-Identifier: Apache-2.0
// Days of the calendar, for runs that begin on one and have to end before another. Nobody asks a
// clock: the same question has the same answer on every day.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::planner {

using Date = std::chrono::year_month_day;

// "2027-03-31". Nothing: no such day.
std::optional<Date> date_from_text(std::string_view text);
std::string date_text(const Date& date);

// From the first morning to the morning of the other; negative when that is earlier.
double days_between(const Date& first, const Date& other);
// The day whose morning is so many whole days after the first one's; negative: before it.
Date date_after(const Date& first, double days);
// The day on which a run ends that begins on the morning of `first` and takes `days`. A run of
// 2.0 days ends with the second day.
Date last_day(const Date& first, double days);

}  // namespace meshwright::planner
