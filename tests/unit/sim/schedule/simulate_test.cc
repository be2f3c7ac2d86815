// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <tuple>

#include "equal_stages.h"

namespace meshwright {
namespace {

// p = 2, m = 2, F = 1, backward 2:
//   time     0  1  2     4  5     7
//   stage 0  F0 F1 .  .  B0-- .  B1--      B0 waits for stage 1 until 4, B1 until 7
//   stage 1  .  F0 B0--  F1 B1--
TEST(Simulate, OneFOneBDrawnByHand) {
  const auto times = equal_stages(2, 1, chunk_times(1, 1, 1));
  const Timeline t = run(PipelineSchedule::one_f_one_b, 2, times, true);
  const std::vector<double> begins{0, 1, 4, 7, 1, 2, 4, 5};
  ASSERT_EQ(t.events.size(), begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_DOUBLE_EQ(t.events[i].begin.value(), begins[i]) << "event " << i;
  }
  EXPECT_DOUBLE_EQ(t.total.value(), 9);  // m(F+B) + (p-1)(F+B) = 6 + 3
  EXPECT_DOUBLE_EQ(t.busy[0].value(), 6);
  EXPECT_DOUBLE_EQ(t.bubble(1).value(), 3);
  EXPECT_EQ(t.peak_activations, (std::vector<double>{2, 1}));
}

// p = 2, m = 3, stage 0 (F 1, B 1), stage 1 (F 2, B 4): stage 1 never waits after its first
// forward arrives at 1: 1 + 3 * 6 = 19, then stage 0's last backward: 20.
//   stage 0  F0 0-1, F1 1-2, B0 7-8, F2 8-9, B1 13-14, B2 19-20
//   stage 1  F0 1-3, B0 3-7, F1 7-9, B1 9-13, F2 13-15, B2 15-19
TEST(Simulate, UnevenStagesDrawnByHand) {
  PipelineTimes times;
  times.stages = {{chunk_times(1, 0.5, 0.5)}, {chunk_times(2, 2, 2)}};
  const Timeline t = run(PipelineSchedule::one_f_one_b, 3, times, true);
  EXPECT_DOUBLE_EQ(t.total.value(), 20);
  EXPECT_DOUBLE_EQ(t.events[2].begin.value(), 7);
  EXPECT_DOUBLE_EQ(t.events[3].begin.value(), 8);
}

// p = 2, m = 2, F = 1, B = 2, a transfer 0.5. Stage 0 sends after each forward, stage 1 after each
// backward.
//   stage 0  F0 0-1 s, F1 1.5-2.5 s, B0 5-7, B1 8.5-10.5
//   stage 1  F0 1.5-2.5, B0 2.5-4.5 s, F1 5-6, B1 6-8 s
TEST(Simulate, ATransferKeepsItsSender) {
  auto times = equal_stages(2, 1, chunk_times(1, 1, 1));
  times.send = seconds(0.5);
  const Timeline t = run(PipelineSchedule::one_f_one_b, 2, times, true);
  const std::vector<double> begins{0, 1.5, 5, 8.5, 1.5, 2.5, 5, 6};
  for (std::size_t i = 0; i < begins.size(); ++i) {
    EXPECT_DOUBLE_EQ(t.events[i].begin.value(), begins[i]) << "event " << i;
  }
  EXPECT_DOUBLE_EQ(t.total.value(), 10.5);
  EXPECT_DOUBLE_EQ(t.sending[0].value(), 1);
  EXPECT_DOUBLE_EQ(t.sending[1].value(), 1);
  EXPECT_DOUBLE_EQ(t.bubble(0).value(), 10.5 - 6 - 1);
}

TEST(Simulate, AStageDoesOneThingAtATime) {
  for (const auto& c : schedule_cases()) {
    const auto times = equal_stages(c.stages, c.chunks, chunk_times(1, 1.5, 0.75));
    const Timeline t = run(c.schedule, c.micro_batches, times, true);
    for (std::size_t i = 0; i + 1 < t.events.size(); ++i) {
      if (t.events[i].stage != t.events[i + 1].stage || t.events[i].instruction.with_next) continue;
      EXPECT_LE(t.events[i].end, t.events[i + 1].begin);
    }
  }
}

// Chunks of the model in the order of a micro-batch's way; each forward begins after the one
// before has ended, each backward likewise the other way round, weight gradients after their input
// gradients.
TEST(Simulate, NothingBeginsBeforeItsInputIsThere) {
  for (const auto& c : schedule_cases()) {
    const auto times = equal_stages(c.stages, c.chunks, chunk_times(1, 1.5, 0.75));
    const Timeline t = run(c.schedule, c.micro_batches, times, true);
    std::map<std::tuple<int, int, int>, TimelineEvent> forward, backward, weight;
    for (const auto& e : t.events) {
      auto& kind = e.instruction.pass == Pass::forward           ? forward
                   : e.instruction.pass == Pass::backward_weight ? weight
                                                                 : backward;
      kind[{e.instruction.micro_batch, e.stage, e.instruction.chunk}] = e;
    }
    for (int mb = 0; mb < c.micro_batches; ++mb) {
      for (int chunk = 0; chunk + 1 < c.stages * c.chunks; ++chunk) {
        const auto a = stage_chunk(c.schedule, c.stages, chunk);
        const auto b = stage_chunk(c.schedule, c.stages, chunk + 1);
        const auto here = forward.find({mb, a.stage, a.chunk});
        const auto next = forward.find({mb, b.stage, b.chunk});
        if (here == forward.end() || next == forward.end()) continue;  // the other direction
        EXPECT_LE(here->second.end, next->second.begin);
        EXPECT_LE(backward.at(next->first).end, backward.at(here->first).begin);
        EXPECT_LE(next->second.end, backward.at(next->first).begin);
      }
    }
    for (const auto& [key, e] : weight) EXPECT_LE(backward.at(key).end, e.begin);
  }
}

TEST(Simulate, AllActivationsAreReleased) {
  for (const auto& c : schedule_cases()) {
    for (const auto& program :
         pipeline_programs(c.schedule, {c.stages, c.micro_batches, c.chunks})) {
      int held = 0;
      for (const Instruction& i : program) {
        if (i.pass == Pass::forward) ++held;
        if (i.pass == Pass::backward || i.pass == Pass::backward_weight) --held;
      }
      EXPECT_EQ(held, 0);
    }
  }
}

TEST(Simulate, ProgramsThatWaitForEachOtherAreRefused) {
  // Stage 0 wants the backward of micro-batch 0 before it has sent it forward.
  const std::vector<StageProgram> programs{
      {{Pass::backward, false, 0, 0}, {Pass::forward, false, 0, 0}},
      {{Pass::forward, false, 0, 0}, {Pass::backward, false, 0, 0}}};
  EXPECT_THROW(simulate(PipelineSchedule::one_f_one_b, programs,
                        equal_stages(2, 1, chunk_times(1, 1, 1)), false),
               std::logic_error);
}

TEST(Simulate, SlowerStagesNeverShortenAStep) {
  for (const auto& c : schedule_cases()) {
    auto times = equal_stages(c.stages, c.chunks, chunk_times(1, 1, 1));
    const Seconds before = run(c.schedule, c.micro_batches, times).makespan;
    times.stages.back().front().forward = seconds(1.5);
    EXPECT_GE(run(c.schedule, c.micro_batches, times).makespan, before);
  }
}

}  // namespace
}  // namespace meshwright
