// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/states/parameters.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// A fused 3-block matrix of 2 rows x (3 * 4) columns; the second of two ranks holds columns 2 and 3
// of each block: 2 x 6 numbers. Its number 8 is in row 1, third in the row: block 1, column 2 of
// that block, so column 1 * 4 + 2 = 6.
TEST(Parameters, ASliceKnowsItsPlaceInTheFullMatrix) {
  Parameter p;
  p.rows = p.local_rows = 2;
  p.blocks = 3;
  p.cols = 4;
  p.local_cols = 2;
  p.first_col = 2;
  EXPECT_EQ(p.count(), 12);
  EXPECT_EQ(p.global_row(8), 1);
  EXPECT_EQ(p.global_col(8), 6);
  EXPECT_EQ(p.global_col(0), 2);
  p.first_row = 5;
  EXPECT_EQ(p.global_row(8), 6);
}

TEST(Parameters, HashedNumbersDependOnEveryArgumentAndOnNothingElse) {
  const float x = hashed_number(1, 2, 3, 4);
  EXPECT_EQ(x, hashed_number(1, 2, 3, 4));
  EXPECT_NE(x, hashed_number(2, 2, 3, 4));
  EXPECT_NE(x, hashed_number(1, 3, 3, 4));
  EXPECT_NE(x, hashed_number(1, 2, 4, 4));
  EXPECT_NE(x, hashed_number(1, 2, 3, 5));
  EXPECT_NE(stream_of("layers.1.mlp"), stream_of("layers.2.mlp"));
}

// Uniform on [-1, 1): mean 0 and variance 1/3; of 10000 numbers the mean is within 5 standard
// errors, 5 * sqrt(1/3) / 100 = 0.029.
TEST(Parameters, HashedNumbersAreUniform) {
  double sum = 0.0, squares = 0.0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const auto x = static_cast<double>(hashed_number(1, 2, i / 100, i % 100));
    ASSERT_GE(x, -1.0);
    ASSERT_LT(x, 1.0);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 1e4, 0.0, 0.029);
  EXPECT_NEAR(squares / 1e4, 1.0 / 3.0, 0.02);
}

}  // namespace
}  // namespace meshwright::calibrate
