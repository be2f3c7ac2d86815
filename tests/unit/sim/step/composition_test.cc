// SPDX-License-Identifier: Apache-2.0
#include "sim/step/composition.h"

#include <gtest/gtest.h>

#include <array>

namespace meshwright {
namespace {

// 10 + 5 on stage 0, 20 + 1 on stage 3: the second is fuller, and the reserve of 2 comes on top.
TEST(PeakMemory, IsTheFullestStageAndTheReserve) {
  const std::array fixed{FixedMemory{bytes(10), bytes(10)}, FixedMemory{bytes(20), bytes(20)}};
  const std::array moving{MovingPeak{bytes(5), bytes(5), 0}, MovingPeak{bytes(1), bytes(1), 3}};
  const PeakMemory peak = peak_memory(fixed, moving, bytes(2));
  EXPECT_EQ(peak.bytes, bytes(23));
  EXPECT_EQ(peak.stage, 3);
}

// 10 + 9 at the loss, 14 + 4 in the layers; then 15 + 4, which is no more, and 16 + 4.
TEST(PeakMemory, IsThatOfTheLossOrOfTheLayers) {
  const std::array moving{MovingPeak{bytes(9), bytes(4), 0}};
  for (const auto& [in_layers, total] : {std::pair{14, 19}, {15, 19}, {16, 20}}) {
    const std::array fixed{FixedMemory{bytes(10), bytes(in_layers)}};
    EXPECT_EQ(peak_memory(fixed, moving, bytes(0)).bytes, bytes(total));
  }
}

// Two runs of stages: 1 s and 4 s backward, 3 s of gradients each, overlapped without slowdown.
// The first waits 3 - 1 = 2 s, the second not at all.
TEST(LongestWait, IsThatOfTheRunThatHidesLeast) {
  PipelinePart pipeline;
  pipeline.stages.resize(2);
  pipeline.stages[0].backward_time = seconds(1);
  pipeline.stages[1].backward_time = seconds(4);
  DataCost cost;
  cost.reduce.time = seconds(3);
  const DataPart data{{.reduce = true}, {cost, cost}, {seconds(0.5)}};
  const LongestWait wait = longest_wait(pipeline, data);
  EXPECT_EQ(wait.time, seconds(2));
  EXPECT_EQ(wait.run, 0U);
  EXPECT_EQ(wait.exposed.reduce, seconds(2));
}

// 4 s of backward, of which other axes hold the NIC for 2.5: 3 s of gradients over it have 1.5 s to
// hide in and stick out by 1.5, those over links inside the node have all 4.
TEST(LongestWait, CountsWhatOtherAxesHoldOfTheSameWire) {
  PipelinePart pipeline;
  pipeline.stages.resize(1);
  pipeline.stages[0].backward_time = seconds(4);
  pipeline.stages[0].backward_wires.across = seconds(2.5);
  DataCost cost;
  cost.reduce.time = seconds(3);
  DataPart data{{.reduce = true}, {cost}, {}, Tier::inter_node};
  EXPECT_EQ(longest_wait(pipeline, data).time, seconds(1.5));
  data.tier = Tier::intra_node;
  EXPECT_EQ(longest_wait(pipeline, data).time, seconds(0));
}

// 4 s of backward less 1.5 s of messages to the stage before, over the same NIC: 0.5 s of 3 stick
// out.
TEST(LongestWait, CountsSendsBesideTheBackward) {
  PipelinePart pipeline;
  pipeline.stages.resize(1);
  pipeline.stages[0].backward_time = seconds(4);
  pipeline.sends.across = seconds(1.5);
  DataCost cost;
  cost.reduce.time = seconds(3);
  const DataPart data{{.reduce = true}, {cost}, {}, Tier::inter_node};
  EXPECT_EQ(longest_wait(pipeline, data).time, seconds(0.5));
}

// 10 s of pipeline + 2 s of waiting + 0.5 s of optimizer + 0.25 s of host + 1 s of offload.
TEST(StepTime, IsTheSumOfBothSides) {
  PipelinePart pipeline;
  pipeline.time = seconds(10);
  pipeline.host = seconds(0.25);
  pipeline.offload = seconds(1);
  DataPart data;
  data.optimizer.time = seconds(0.5);
  EXPECT_EQ(step_time(pipeline, data, seconds(2)), seconds(13.75));
  EXPECT_EQ(pipeline.least_step(), seconds(11.25));
}

}  // namespace
}  // namespace meshwright
