// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "equal_stages.h"

namespace meshwright {
namespace {

// p = 2, m = 3, F = B = W = 1 (I = input gradient, W = weight gradient):
//   time     0  1  2  3  4  5  6  7  8  9
//   stage 0  F0 F1 .  I0 W0 F2 I1 W1 I2 W2      I0 waits for stage 1 until 3
//   stage 1  .  F0 I0 F1 I1 W0 F2 I2 W1 W2
// 1F1B would take 3*3 + 3 = 12; ZB-H1 takes 9 + (p-1)(F+B-W) = 10.
TEST(ZeroBubble, H1DrawnByHand) {
  const auto times = equal_stages(2, 1, chunk_times(1, 1, 1));
  const Timeline t = run(PipelineSchedule::zb_h1, 3, times, true);
  const std::vector<double> begins{0, 1, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  ASSERT_EQ(t.events.size(), begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_DOUBLE_EQ(t.events[i].begin.value(), begins[i]) << "event " << i;
  }
  EXPECT_DOUBLE_EQ(t.total.value(), 10);
  EXPECT_DOUBLE_EQ(t.bubble(0).value(), 1);
  EXPECT_EQ(t.peak_activations, (std::vector<double>{2, 2}));
}

// p = 2, m = 3, F = B = W = 1:
//   time     0  1  2  3  4  5  6  7  8  9
//   stage 0  F0 F1 F2 I0 W0 I1 W1 I2 W2
//   stage 1  .  F0 I0 F1 I1 F2 I2 W0 W1 W2
// Both stages work without a pause; the second begins and ends one later.
TEST(ZeroBubble, H2DrawnByHand) {
  const auto times = equal_stages(2, 1, chunk_times(1, 1, 1));
  const Timeline t = run(PipelineSchedule::zb_h2, 3, times);
  EXPECT_DOUBLE_EQ(t.total.value(), 9);
  EXPECT_DOUBLE_EQ(t.makespan.value(), 10);
  EXPECT_DOUBLE_EQ(t.bubble(0).value(), 0);
  EXPECT_DOUBLE_EQ(t.bubble(1).value(), 0);
  EXPECT_EQ(t.peak_activations, (std::vector<double>{3, 3}));
}

// p = 1: both chunks on one stage, nothing to wait for, and two activations at once.
TEST(ZeroBubble, VOnOneStageIsBusyThroughout) {
  const Timeline t = run(PipelineSchedule::zb_v, 4, equal_stages(1, 2, chunk_times(1, 2, 1)));
  EXPECT_DOUBLE_EQ(t.total.value(), 4 * 2 * 4);
  EXPECT_DOUBLE_EQ(t.bubble(0).value(), 0);
}

TEST(ZeroBubble, VRunsFewerMicroBatchesThanItsWarmup) {
  for (int m = 1; m < 7; ++m) {
    const Timeline t = run(PipelineSchedule::zb_v, m, equal_stages(4, 2, chunk_times(1, 1, 1)));
    EXPECT_DOUBLE_EQ(t.busy[2].value(), m * 2 * 3.0);
  }
}

}  // namespace
}  // namespace meshwright
