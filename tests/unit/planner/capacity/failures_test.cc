// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/failures.h"

#include <gtest/gtest.h>

namespace meshwright::planner {
namespace {

double hours(Seconds time) { return time.value() / 3600.0; }

// arXiv 2410.21680 projects 1.8 h for 16,384 GPUs and 0.23 h for 131,072 at 6.50 per 1,000
// node-days: 2,048 nodes x 0.0065 = 13.312 a day, 24 / 13.312 = 1.803 h; eight times as many,
// 0.225.
TEST(Failures, ComeAsOftenAsMetaProjects) {
  EXPECT_NEAR(hours(mean_time_between_failures(16384, 6.5)), 1.803, 0.0005);
  EXPECT_NEAR(hours(mean_time_between_failures(131072, 6.5)), 0.2254, 0.0001);
}

// arXiv 2407.21783: 419 unplanned in 54 days, one in 54 x 24 / 419 = 3.093 h; 419 / (2,048 x 54) =
// 3.789 per 1,000 node-days.
TEST(Failures, ComeAsOftenAsLlama3Counted) {
  EXPECT_NEAR(hours(mean_time_between_failures(16384, 1000.0 * 419 / (2048 * 54))), 3.093, 0.0005);
}

// 2,048 nodes x 0.004 a day x 1 day: 8.192 away on average; P(X <= 15) = 0.98988, P(X <= 16) =
// 0.99533.
TEST(Failures, SparesAreTheSmallestNumberThatIsEnough) {
  EXPECT_EQ(spare_nodes(16384, 4.0, 1.0, 0.99), 16);
  EXPECT_EQ(spare_nodes(16384, 4.0, 1.0, 0.9898), 15);
  EXPECT_EQ(spare_nodes(16384, 0.0, 1.0, 0.99), 0);
}

// NCSA Delta (arXiv 2503.11901): quick recovery needs fewer. 76 nodes that each fail every 20 days:
// 2.2 h keep 76 / 20 x 2.2 / 24 = 0.348 away, 5 min 0.0132.
TEST(Failures, QuickRepairNeedsFewerSpares) {
  EXPECT_EQ(spare_nodes(608, 50.0, 2.2 / 24.0, 0.999), 3);    // 4 % of 76
  EXPECT_EQ(spare_nodes(608, 50.0, 5.0 / 1440.0, 0.999), 1);  // 1.3 %
}

}  // namespace
}  // namespace meshwright::planner
