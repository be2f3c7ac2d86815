// SPDX-License-Identifier: Apache-2.0
#include "app/runs/trial_trace.h"

#include <gtest/gtest.h>

namespace meshwright::app {
namespace {

// Two ranks: a forward pass of 3 s on each, then rank 0 sends for 1 s while rank 1 waits 2 s.
Observation two_ranks() {
  Observation o;
  o.run_layout.pipeline_parallel_size = 2;
  o.ranks = 2;
  o.intervals = {
      {0, TermKind::forward_compute, "", 0, 0, seconds(0), seconds(3)},
      {0, TermKind::pipeline_communication, "pipeline_activation", 0, 0, seconds(3), seconds(4)},
      {1, TermKind::forward_compute, "", 0, 1, seconds(0), seconds(3)},
      {1, TermKind::pipeline_bubble, "", -1, 0, seconds(3), seconds(5)},
  };
  return o;
}

TEST(TrialTrace, EveryRankIsAProcessWithComputeAndCommunicationApart) {
  const reports::Trace trace = trial_trace({two_ranks()});
  ASSERT_EQ(trace.processes.size(), 2U);
  EXPECT_EQ(trace.processes[1].name, "pp2 rank 1");
  ASSERT_EQ(trace.slices.size(), 4U);
  EXPECT_EQ(trace.slices[0].track, 0);
  EXPECT_EQ(trace.slices[1].track, 1);
  EXPECT_EQ(trace.slices[1].name, "pipeline_activation");
  EXPECT_EQ(trace.slices[3].process, 1);
  EXPECT_EQ(trace.slices[3].track, 1);
  EXPECT_FALSE(reports::trace_text(trace).empty());  // throws where slices overlap
}

TEST(TrialTrace, OnlyWorkOfAMicroBatchSaysWhichOne) {
  const reports::Trace trace = trial_trace({two_ranks()});
  EXPECT_EQ(trace.slices[2].numbers, (reports::TraceNumbers{{"micro_batch", 0}, {"chunk", 1}}));
  EXPECT_TRUE(trace.slices[3].numbers.empty());
}

TEST(TrialTrace, LayoutsFollowOneAnotherAndUnrecordedOnesAreLeftOut) {
  const reports::Trace trace = trial_trace({two_ranks(), Observation{}, two_ranks()});
  ASSERT_EQ(trace.processes.size(), 4U);
  ASSERT_EQ(trace.slices.size(), 8U);
  EXPECT_EQ(trace.slices[4].process, 2);
  EXPECT_EQ(trace.slices[4].begin, seconds(5));  // where the first one's last rank was done
}

}  // namespace
}  // namespace meshwright::app
