// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "equal_stages.h"

namespace meshwright {
namespace {

// Stage r and stage p-1-r do the same work in opposite directions.
TEST(DualPipe, IsItsOwnMirrorImage) {
  const int p = 6;
  const int m = 12;
  for (int r = 0; r < p; ++r) {
    const auto program = traits(PipelineSchedule::dualpipe).program;
    const auto here = program({p, m, 2}, r);
    const auto there = program({p, m, 2}, p - 1 - r);
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(here[i].pass, there[i].pass);
      EXPECT_EQ(here[i].chunk, 1 - there[i].chunk);
      EXPECT_EQ(here[i].micro_batch % (m / 2), there[i].micro_batch % (m / 2));
    }
  }
}

// p = 2 has no ramp: (p/2-1) = 0 and both stages work from first to last. m = 4, F = B = W = 1,
// each stage 4 micro-batches x 3 = 12 seconds.
TEST(DualPipe, TwoStagesNeverWait) {
  const Timeline t = run(PipelineSchedule::dualpipe, 4, equal_stages(2, 2, chunk_times(1, 1, 1)));
  EXPECT_DOUBLE_EQ(t.total.value(), 12);
  EXPECT_DOUBLE_EQ(t.makespan.value(), 12);
  EXPECT_DOUBLE_EQ(t.bubble(1).value(), 0);
  EXPECT_EQ(t.peak_activations, (std::vector<double>{3, 3}));
}

// An overlapped pair starts and ends together and takes F + B + W.
TEST(DualPipe, OverlappedPairsShareTheirTime) {
  const auto times = equal_stages(4, 2, chunk_times(1, 2, 1));
  const auto programs = pipeline_programs(PipelineSchedule::dualpipe, {4, 8, 2});
  const Timeline t = simulate(PipelineSchedule::dualpipe, programs, times, true);
  int pairs = 0;
  for (std::size_t i = 0; i + 1 < t.events.size(); ++i) {
    if (!t.events[i].instruction.with_next) continue;
    ++pairs;
    EXPECT_EQ(t.events[i].begin, t.events[i + 1].begin);
    EXPECT_EQ(t.events[i].end, t.events[i + 1].end);
    EXPECT_DOUBLE_EQ((t.events[i].end - t.events[i].begin).value(), 4);
    EXPECT_NE(t.events[i].instruction.chunk, t.events[i + 1].instruction.chunk);
  }
  // Outer stages: m/2 - p + 1 = 1 double round and one single: 3 pairs. Inner: 2 double rounds: 4.
  EXPECT_EQ(pairs, 3 + 4 + 4 + 3);
}

}  // namespace
}  // namespace meshwright
