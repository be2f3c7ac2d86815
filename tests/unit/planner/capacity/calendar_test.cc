// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/calendar.h"

#include <gtest/gtest.h>

namespace meshwright::planner {
namespace {

TEST(Calendar, ReadsDaysThatThereAre) {
  EXPECT_EQ(date_text(*date_from_text("2028-02-29")), "2028-02-29");
  for (const char* wrong : {"2027-02-29", "2027-13-01", "2027-00-10", "27-01-01", "2027/01/01",
                            "2027-01-1", "", "2027-01-0x", "0001-01-01"}) {
    EXPECT_FALSE(date_from_text(wrong)) << wrong;
  }
}

// January has 31 days, and 2028 is a leap year: 31 + 29 days to the first of March.
TEST(Calendar, CountsDays) {
  const Date first = *date_from_text("2028-01-01");
  EXPECT_EQ(days_between(first, *date_from_text("2028-03-01")), 60.0);
  EXPECT_EQ(days_between(*date_from_text("2028-03-01"), first), -60.0);
}

// Two days are the first and the second; a minute more needs a third.
TEST(Calendar, ARunEndsWithItsLastDay) {
  const Date first = *date_from_text("2027-12-30");
  EXPECT_EQ(date_text(last_day(first, 2.0)), "2027-12-31");
  EXPECT_EQ(date_text(last_day(first, 2.001)), "2028-01-01");
  EXPECT_EQ(date_text(last_day(first, 0.0)), "2027-12-30");
}

}  // namespace
}  // namespace meshwright::planner
