// SPDX-License-Identifier: Apache-2.0
#include "sim/base/number_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace meshwright {
namespace {

TEST(NumberText, KeepsFourSignificantDigits) {
  EXPECT_EQ(significant(12.345678), "12.35");
  EXPECT_EQ(significant(0.0123456), "0.01235");
  EXPECT_EQ(significant(0.0), "0");
  EXPECT_EQ(significant(2.0, 3), "2.00");
  EXPECT_EQ(significant(99.9999999), "100.0");
  EXPECT_EQ(significant(-999.96), "-1,000");
}

// Whole digits stay: 1,489.6 days are 1,490 in three digits as in four.
TEST(NumberText, WritesNoExponents) {
  EXPECT_EQ(significant(1489.6, 3), "1,490");
  EXPECT_EQ(significant(12345678.0), "12,345,678");
  EXPECT_EQ(significant(7.75e-9), "~0");
  EXPECT_EQ(significant(1.2345e18), "1.234 x 10^18");
  EXPECT_EQ(significant(std::numeric_limits<double>::infinity()), "not a number");
}

TEST(NumberText, SentencesDropZerosAtTheEnd) {
  EXPECT_EQ(number_text(12.5), "12.5");
  EXPECT_EQ(number_text(450.0), "450");
  EXPECT_EQ(number_text(1490.0, 3), "1,490");
  EXPECT_EQ(signed_number_text(3.0, 3), "+3");
  EXPECT_EQ(signed_number_text(-31.30, 3), "-31.3");
  EXPECT_EQ(signed_number_text(1e-9, 3), "+0");
}

TEST(NumberText, CountsHaveThousandsSeparators) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1000), "1,000");
  EXPECT_EQ(count_text(-1234567), "-1,234,567");
}

}  // namespace
}  // namespace meshwright
