// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/traits.h"

#include <gtest/gtest.h>

#include <cmath>

#include "equal_stages.h"

namespace meshwright {
namespace {

// Work in quarters of a second, so that sums are exact in binary and equality can be demanded.
const std::vector<PassTimes> kWorkGrid{chunk_times(1, 1, 1),   chunk_times(1, 2, 1),
                                       chunk_times(2, 2, 1),   chunk_times(1, 1.5, 0.5),
                                       chunk_times(3, 3.5, 3), chunk_times(1, 1.25, 1)};

TEST(ScheduleTraits, StandInTheOrderOfTheNames) {
  for (std::size_t i = 0; i < pipeline_schedules.size(); ++i) {
    EXPECT_EQ(pipeline_schedules[i]->schedule, kPipelineScheduleNames[i].value);
    EXPECT_EQ(static_cast<std::size_t>(pipeline_schedules[i]->schedule), i);
  }
}

// DualPipe's forwards without a partner on the first stage, in micro-batches of two chunks; an
// interleaved pipeline fills with one micro-batch a stage, one stage alone begins with one.
TEST(ScheduleTraits, UnpairedPassesAreThoseOfTheProgram) {
  for (const auto schedule : {PipelineSchedule::dualpipe, PipelineSchedule::dualpipe_v}) {
    const ScheduleTraits& t = traits(schedule);
    double alone = 0;
    for (const Instruction& step : t.program({8, 32, 2}, 0)) {
      if (step.pass == Pass::forward && !step.with_next) alone += 0.5;
    }
    // Those that a backward takes along stand before it in the program.
    EXPECT_EQ(t.unpaired(8), alone) << name_of(schedule);
  }
  EXPECT_EQ(traits(PipelineSchedule::interleaved).unpaired(4), 4);
  EXPECT_EQ(traits(PipelineSchedule::one_f_one_b).unpaired(1), 1);
}

TEST(ScheduleTraits, BubbleEqualsTheSimulationOnEqualStages) {
  for (const auto& c : schedule_cases()) {
    for (const PassTimes& work : kWorkGrid) {
      const Timeline t = run(c.schedule, c.micro_batches, equal_stages(c.stages, c.chunks, work));
      const Seconds expected = traits(c.schedule).bubble(c.stages, work);
      for (int stage = 0; stage < c.stages; ++stage) {
        EXPECT_EQ(t.bubble(stage), expected)
            << name_of(c.schedule) << " p " << c.stages << " m " << c.micro_batches << " v "
            << c.chunks << " stage " << stage;
      }
    }
  }
}

// p = 4, F = 1, B = 2, W = 1. 1F1B 3*4; ZB-H1 3*(1+2-1); ZB-H2 3*(1+2-2); ZB-V 2*3*(2-1);
// DualPipe (4/2-1)(4 + 3 - 3*1).
TEST(ScheduleTraits, PublishedBubbles) {
  const PassTimes work = chunk_times(1, 2, 1);
  const auto bubble = [&](PipelineSchedule s) { return traits(s).bubble(4, work).value(); };
  EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::one_f_one_b), 12);
  EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::zb_h1), 6);
  EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::zb_h2), 3);
  EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::zb_v), 6);
  EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::dualpipe), 4);
}

// F = 1, B = 2, W = 3: a longer weight gradient fills no more than the forward's wait, 3 * (2 + 0).
TEST(ScheduleTraits, WeightGradientsFillNoMoreThanTheForwardsWait) {
  EXPECT_DOUBLE_EQ(traits(PipelineSchedule::zb_h1).bubble(4, chunk_times(1, 2, 3)).value(), 6);
}

// With F = B = W ZB-H1 keeps a third of 1F1B's bubble, ZB-H2 and ZB-V none (Qi 2401.10241,
// 2405.15362).
TEST(ScheduleTraits, EqualWorkLeavesAThirdOrNothing) {
  const PassTimes work = chunk_times(1, 1, 1);
  for (const int p : {2, 4, 8}) {
    const auto bubble = [&](PipelineSchedule s) { return traits(s).bubble(p, work).value(); };
    EXPECT_DOUBLE_EQ(3 * bubble(PipelineSchedule::zb_h1), bubble(PipelineSchedule::one_f_one_b));
    EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::zb_h2), 0);
    EXPECT_DOUBLE_EQ(bubble(PipelineSchedule::zb_v), 0);
  }
}

// Interleaving cuts the bubble by v: a chunk has 1/v of the stage's work.
TEST(ScheduleTraits, InterleavingDividesTheBubble) {
  const Seconds whole = traits(PipelineSchedule::one_f_one_b).bubble(4, chunk_times(3, 3, 3));
  const Seconds chunk = traits(PipelineSchedule::interleaved).bubble(4, chunk_times(1, 1, 1));
  EXPECT_DOUBLE_EQ(whole / chunk, 3);
}

TEST(ScheduleTraits, OnePipelineStageHasNoBubble) {
  const PassTimes work = chunk_times(1, 2, 1);
  for (const auto s : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    EXPECT_EQ(traits(s).bubble(1, work), Seconds{});
    EXPECT_DOUBLE_EQ(closed_form(s, 5, equal_stages(1, 1, work)).value(), 20);
  }
}

TEST(ScheduleTraits, PeakActivationsEqualTheSimulation) {
  for (const auto& c : schedule_cases()) {
    const Timeline t =
        run(c.schedule, c.micro_batches, equal_stages(c.stages, c.chunks, chunk_times(1, 1, 1)));
    for (int stage = 0; stage < c.stages; ++stage) {
      EXPECT_EQ(t.peak_activations[static_cast<std::size_t>(stage)],
                traits(c.schedule).peak({c.stages, c.micro_batches, c.chunks}, stage))
          << name_of(c.schedule) << " p " << c.stages << " stage " << stage;
    }
  }
}

TEST(ScheduleTraits, PeakActivationsOfAnyNumberOfMicroBatchesEqualTheSimulation) {
  for (const ScheduleTraits* t : pipeline_schedules) {
    if (t->groups_of_stages || t->stages_multiple_of > 1) continue;  // never run so
    const int chunks = t->fewest_chunks, fewest = t->fewest_micro_batches.of(5);
    for (int m = fewest; m < fewest + 10; ++m) {
      const Timeline timeline = run(t->schedule, m, equal_stages(5, chunks, chunk_times(1, 1, 1)));
      for (int stage = 0; stage < 5; ++stage) {
        EXPECT_EQ(t->peak({5, m, chunks}, stage),
                  timeline.peak_activations[static_cast<std::size_t>(stage)])
            << name_of(t->schedule) << " m " << m << " stage " << stage;
      }
    }
  }
}

// Pairs of a forward and a backward take both their times; the bubble of equal stages stays.
TEST(ScheduleTraits, PairedPassesLeaveTheBubbleOfInterleavedStages) {
  for (const int v : {2, 4}) {
    const PassTimes work = chunk_times(1, 1.5, 0.5);
    const PipelineSizes sizes{4, 16, v, true};
    const Timeline t = simulate(PipelineSchedule::interleaved,
                                pipeline_programs(PipelineSchedule::interleaved, sizes),
                                equal_stages(4, v, work), false);
    EXPECT_EQ(t.bubble(0), traits(PipelineSchedule::interleaved).bubble(4, work)) << v;
  }
}

// p = 4, m = 8: ranks hold 4, 3, 2, 1 under 1F1B; interleaved with v = 2 up to 2*3 + 4 + 1 = 11.
TEST(ScheduleTraits, PublishedPeaks) {
  const auto peak = [](PipelineSchedule s, int v, int stage) {
    return traits(s).peak({4, 8, v}, stage);
  };
  EXPECT_EQ(peak(PipelineSchedule::one_f_one_b, 1, 0), 4);
  EXPECT_EQ(peak(PipelineSchedule::one_f_one_b, 1, 3), 1);
  EXPECT_EQ(peak(PipelineSchedule::interleaved, 2, 0), 11);
  EXPECT_EQ(peak(PipelineSchedule::gpipe, 1, 2), 8);
  EXPECT_EQ(peak(PipelineSchedule::zb_h1, 1, 3), 4);
  EXPECT_EQ(peak(PipelineSchedule::zb_h2, 1, 0), 7);
  EXPECT_EQ(peak(PipelineSchedule::zb_v, 2, 0), 8);  // chunks of half a stage: 4 stages' worth
  EXPECT_EQ(peak(PipelineSchedule::dualpipe, 2, 0), 5);
}

// A pattern of stage times that repeats nowhere, in quarters of a second.
PipelineTimes uneven_stages(int stages, int chunks, int seed, int spread) {
  PipelineTimes times;
  times.send = seconds(0.25 * (seed % 3));
  for (int s = 0; s < stages; ++s) {
    times.stages.emplace_back();
    for (int c = 0; c < chunks; ++c) {
      const int x = (s * 7 + c * 3 + seed * 5) * (seed + 2);
      times.stages.back().push_back(chunk_times(
          2 + 0.25 * (x % spread), 2 + 0.25 * ((x / 3) % spread), 2 + 0.25 * ((x / 7) % spread)));
    }
  }
  return times;
}

TEST(ScheduleTraits, TotalOfGpipeAnd1F1BEqualsTheSimulationOnAnyStages) {
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    for (const int spread : {2, 5, 23}) {
      for (int p = 1; p <= 9; ++p) {
        for (const int m : {1, 2, 3, 5, 8, 13, 21}) {
          for (int seed = 0; seed < 6; ++seed) {
            const auto times = uneven_stages(p, 1, seed, spread);
            EXPECT_EQ(closed_form(schedule, m, times), run(schedule, m, times).total)
                << "p " << p << " m " << m << " spread " << spread << " seed " << seed;
          }
        }
      }
    }
  }
}

TEST(ScheduleTraits, TotalEqualsTheSimulationOnEqualStages) {
  for (const auto& c : schedule_cases()) {
    for (const PassTimes& work : kWorkGrid) {
      const auto times = equal_stages(c.stages, c.chunks, work);
      EXPECT_DOUBLE_EQ(closed_form(c.schedule, c.micro_batches, times).value(),
                       run(c.schedule, c.micro_batches, times).total.value());
    }
  }
}

// Adds a head of half a chunk's work and an embedding of an eighth to the chunks that hold them.
void add_ends(PipelineTimes& times, StageChunk first, StageChunk last) {
  const auto at = [&](StageChunk home) -> PassTimes& {
    return times.stages[static_cast<std::size_t>(home.stage)][static_cast<std::size_t>(home.chunk)];
  };
  at(first).forward += seconds(0.5);
  at(last).forward += seconds(2);
  at(last).backward_input += seconds(2);
  at(last).backward_weight += seconds(2);
}

// The approximation of the schedules without an exact total is within 12 % of the simulation: it
// counts the whole bubble although the stages that wait could not have done the head's work.
TEST(ScheduleTraits, TotalWithAHeadIsCloseToTheSimulation) {
  for (const auto& c : schedule_cases()) {
    auto times = equal_stages(c.stages, c.chunks, chunk_times(4, 5, 4));
    const auto home = [&](int chunk) { return stage_chunk(c.schedule, c.stages, chunk); };
    const int end = c.stages * c.chunks - 1;
    if (traits(c.schedule).mirrored()) {
      add_ends(times, home(0), home(c.stages - 1));
      add_ends(times, home(c.stages), home(end));
    } else {
      add_ends(times, home(0), home(end));
    }
    const double ratio = closed_form(c.schedule, c.micro_batches, times) /
                         run(c.schedule, c.micro_batches, times).total;
    EXPECT_LT(std::abs(ratio - 1), 0.12)
        << name_of(c.schedule) << " p " << c.stages << " m " << c.micro_batches << ": " << ratio;
  }
}

}  // namespace
}  // namespace meshwright
