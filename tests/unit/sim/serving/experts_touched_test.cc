// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/experts_touched.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// E (1 - (1 - k / E)^B): 128 (1 - (120 / 128)^8) = 51.6, and so on.
TEST(ExpertsTouched, AtRandomIsThePublishedTable) {
  const auto touched = [](double experts, double topk, double tokens) {
    return experts_touched(experts, topk, tokens, kRandomRouting);
  };
  EXPECT_NEAR(touched(128, 8, 1), 8.0, 1e-9);
  EXPECT_NEAR(touched(128, 8, 8), 51.6, 0.05);
  EXPECT_NEAR(touched(128, 8, 32), 111.8, 0.05);
  EXPECT_NEAR(touched(128, 4, 16), 51.0, 0.05);
  EXPECT_NEAR(touched(256, 8, 8), 57.4, 0.05);
  EXPECT_NEAR(touched(384, 8, 64), 284.3, 0.5);
  EXPECT_NEAR(touched(512, 10, 8), 74.7, 0.2);
  EXPECT_NEAR(touched(8, 2, 4), 5.47, 0.01);
  EXPECT_EQ(touched(8, 8, 1), 8.0);
  EXPECT_EQ(touched(8, 2, 0), 0.0);
}

// x = -32 ln(1 - 4 / 128) = 1.016: 128 (1 - (1 + 1.016 / 1.5)^-1.5) = 69.1. One token touches k.
TEST(ExpertsTouched, ByTrainedRoutersAreFewer) {
  EXPECT_NEAR(experts_touched(128, 4, 32), 69.1, 0.05);
  EXPECT_EQ(experts_touched(8, 2, 1), 2.0);
  EXPECT_EQ(experts_touched(8, 8, 1), 8.0);
  EXPECT_EQ(experts_touched(8, 2, 0), 0.0);
  EXPECT_LE(experts_touched(8, 2, 1e6), 8.0);
}

// alpha 0.8: 1 + 0.8 = 1.8, + 0.64 = 2.44, + 0.512 = 2.952, + 0.4096 = 3.3616.
TEST(AcceptedLength, IsTheGeometricSum) {
  EXPECT_NEAR(accepted_length(1, 0.8), 1.8, 1e-12);
  EXPECT_NEAR(accepted_length(2, 0.8), 2.44, 1e-12);
  EXPECT_NEAR(accepted_length(4, 0.8), 3.3616, 1e-12);
  EXPECT_EQ(accepted_length(3, 1.0), 4.0);
  EXPECT_EQ(accepted_length(3, 0.0), 1.0);
}

// Eight ranks, 100 each with a standard deviation of 10: the fullest has about 1.42 of them more.
TEST(SlowestOverMean, IsTheMeanOfTheLargest) {
  EXPECT_NEAR(slowest_over_mean(8, 100, 100), 1.1424, 1e-9);
  EXPECT_NEAR(slowest_over_mean(2, 100, 100), 1.0564, 1e-9);
  EXPECT_EQ(slowest_over_mean(1, 100, 100), 1.0);
  EXPECT_GT(slowest_over_mean(32, 100, 100), slowest_over_mean(8, 100, 100));
}

}  // namespace
}  // namespace meshwright
