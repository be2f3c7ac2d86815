// SPDX-License-Identifier: Apache-2.0
#include "sim/step/data_parallel.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// 5 s beside 3 s of compute: 2 s stick out and the 3 s beside it are slowed by a tenth: 2.3 s.
TEST(ExposedTime, IsWhatSticksOutAndTheSlowdownOfTheRest) {
  EXPECT_DOUBLE_EQ(exposed_time(seconds(5), seconds(3), 0.1).value(), 2.3);
  // 2 s beside 3 s: all hidden, 0.2 s of slowdown.
  EXPECT_DOUBLE_EQ(exposed_time(seconds(2), seconds(3), 0.1).value(), 0.2);
}

TEST(ExposedTime, NothingIsHiddenWithoutComputeAndNothingGainedWhereOneCoreDoesBoth) {
  EXPECT_EQ(exposed_time(seconds(5), seconds(0), 0.1), seconds(5));
  EXPECT_EQ(exposed_time(seconds(5), seconds(3), 1.0), seconds(5));
}

// Reduce 5 s, gather 4 s, ZeRO-3's gathers 20 s forward and 30 s backward, of a step of 4
// micro-batches that take 2 s forward and 3 s backward each.
DataCost cost() {
  DataCost cost;
  cost.reduce.time = seconds(5);
  cost.gather.time = seconds(4);
  cost.forward_gather.time = seconds(20);
  cost.backward_gather.time = seconds(30);
  return cost;
}

Seconds exposed(const DataOverlap& overlap) {
  return exposed_data(cost(), overlap, seconds(2), seconds(3), 4).total();
}

TEST(ExposedData, IsTheWholeSumWhereNothingOverlaps) {
  EXPECT_EQ(exposed({.slowdown = 0.1}), seconds(5 + 4 + 20 + 30));
}

// Gradients hide behind one backward, 5 - 3; parameters behind one forward, 4 - 2; ZeRO-3's gathers
// behind all micro-batches': 20 - 4 * 2 and 30 - 4 * 3.
TEST(ExposedData, HidesEachKindBehindItsOwnCompute) {
  EXPECT_EQ(exposed({.reduce = true}), seconds(2 + 4 + 20 + 30));
  EXPECT_EQ(exposed({.gather = true}), seconds(5 + 2 + 20 + 30));
  EXPECT_EQ(exposed({.forward_gather = true}), seconds(5 + 4 + 12 + 30));
  EXPECT_EQ(exposed({.backward_gather = true}), seconds(5 + 4 + 20 + 18));
}

// 3, 2, 8 and 12 s are hidden; a tenth of them, 2.5 s, comes back as slower compute.
TEST(ExposedData, HiddenTrafficSlowsTheCompute) {
  EXPECT_DOUBLE_EQ(exposed({true, true, true, true, 0.1}).value(), 2 + 2 + 12 + 18 + 2.5);
}

// Half of the reduction of 5 s, which errs by 10 %, is hidden, the gather of 4 s, which errs by 30
// %, is not: (2.5 * 0.1 + 4 * 0.3) / 6.5 = 0.223.
TEST(ExposedCost, ErrsAsItsPartsDo) {
  DataCost cost;
  cost.reduce = {seconds(5), 0.1, Provenance::measured};
  cost.gather = {seconds(4), 0.3, Provenance::datasheet};
  const Cost exposed = exposed_cost(cost, {seconds(2.5), seconds(4), {}, {}});
  EXPECT_EQ(exposed.time, seconds(6.5));
  EXPECT_NEAR(exposed.relative_spread, 0.2231, 1e-4);
  EXPECT_EQ(exposed.provenance, Provenance::datasheet);
}

TEST(DataOverlapOf, ZeroThreeAlwaysPrefetches) {
  Layout layout;
  EXPECT_FALSE(data_overlap(layout, {}).forward_gather);
  layout.zero_stage = 3;
  EXPECT_TRUE(data_overlap(layout, {}).forward_gather);
  EXPECT_TRUE(data_overlap(layout, {}).backward_gather);
  EXPECT_FALSE(data_overlap(layout, {}).reduce);
}

}  // namespace
}  // namespace meshwright
