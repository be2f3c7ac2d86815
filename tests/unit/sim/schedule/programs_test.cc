// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <tuple>

#include "equal_stages.h"

namespace meshwright {
namespace {

// "F0 F1 B0 ..." with the chunk behind a dot when there are several; "F1+B0" run together.
std::string text(const StageProgram& program, bool chunks = false) {
  std::string out;
  bool joined = false;
  for (const Instruction& i : program) {
    if (!out.empty()) out += joined ? '+' : ' ';
    joined = i.with_next;
    out += i.pass == Pass::forward          ? 'F'
           : i.pass == Pass::backward       ? 'B'
           : i.pass == Pass::backward_input ? 'I'
                                            : 'W';
    out += std::to_string(i.micro_batch);
    if (!chunks) continue;
    out += '.';
    out += std::to_string(i.chunk);
  }
  return out;
}

TEST(Programs, GpipeRunsAllForwardsThenAllBackwards) {
  for (const auto& program : pipeline_programs(PipelineSchedule::gpipe, {2, 3, 1})) {
    EXPECT_EQ(text(program), "F0 F1 F2 B0 B1 B2");
  }
}

// Warm-up p-r-1: stage 0 of 2 runs one forward ahead, stage 1 none.
TEST(Programs, OneFOneBAlternatesAfterItsWarmup) {
  const auto programs = pipeline_programs(PipelineSchedule::one_f_one_b, {2, 3, 1});
  EXPECT_EQ(text(programs[0]), "F0 F1 B0 F2 B1 B2");
  EXPECT_EQ(text(programs[1]), "F0 B0 F1 B1 F2 B2");
}

// p = 2, v = 2, m = 2: warm-up 2(p-r-1) + (v-1)p = 4 and 2. Forwards go through chunk 0 with both
// micro-batches, then chunk 1; backwards start with chunk 1.
TEST(Programs, InterleavedTakesMicroBatchesInGroupsOfThePipelineSize) {
  const auto programs = pipeline_programs(PipelineSchedule::interleaved, {2, 2, 2});
  EXPECT_EQ(text(programs[0], true), "F0.0 F1.0 F0.1 F1.1 B0.1 B1.1 B0.0 B1.0");
  EXPECT_EQ(text(programs[1], true), "F0.0 F1.0 F0.1 B0.1 F1.1 B1.1 B0.0 B1.0");
}

TEST(Programs, OneStageRunsEachMicroBatchForwardAndBackward) {
  const auto programs = pipeline_programs(PipelineSchedule::one_f_one_b, {1, 2, 1});
  EXPECT_EQ(text(programs[0]), "F0 B0 F1 B1");
}

// Every micro-batch meets every chunk once forward and once backward, the two halves of a split
// backward counted as one; a DualPipe micro-batch meets one of a stage's two chunks.
TEST(Programs, EachMicroBatchOfEachChunkGoesOnceForwardAndOnceBackward) {
  for (const auto& c : schedule_cases()) {
    const auto programs = pipeline_programs(c.schedule, {c.stages, c.micro_batches, c.chunks});
    const bool mirrored = traits(c.schedule).mirrored();
    ASSERT_EQ(programs.size(), static_cast<std::size_t>(c.stages));
    for (const auto& program : programs) {
      std::map<std::tuple<int, int>, std::map<Pass, int>> seen;
      for (const Instruction& i : program) ++seen[{i.micro_batch, i.chunk}][i.pass];
      EXPECT_EQ(seen.size(), static_cast<std::size_t>(c.micro_batches * (mirrored ? 1 : c.chunks)));
      for (auto& [key, works] : seen) {
        EXPECT_EQ(works[Pass::forward], 1);
        EXPECT_EQ(works[Pass::backward] + works[Pass::backward_input], 1);
        EXPECT_EQ(works[Pass::backward_input], works[Pass::backward_weight]);
        if (mirrored) {
          EXPECT_EQ(std::get<1>(key), std::get<0>(key) < c.micro_batches / 2 ? 0 : 1);
        }
      }
    }
  }
}

TEST(StageChunk, InterleavedChunksGoRoundAndFoldedOnesGoBack) {
  EXPECT_EQ(stage_chunk(PipelineSchedule::interleaved, 4, 5).stage, 1);
  EXPECT_EQ(stage_chunk(PipelineSchedule::interleaved, 4, 5).chunk, 1);
  EXPECT_EQ(stage_chunk(PipelineSchedule::zb_v, 4, 4).stage, 3);
  EXPECT_EQ(stage_chunk(PipelineSchedule::zb_v, 4, 7).stage, 0);
  EXPECT_EQ(stage_chunk(PipelineSchedule::dualpipe, 4, 4).stage, 3);
}

// Megatron-LM's combined_1f1b.py, m = 3: a forward alone, two pairs, a backward alone.
TEST(Programs, OneStageWorksOnTwoMicroBatchesTogetherWherePassesArePaired) {
  const auto programs = pipeline_programs(PipelineSchedule::one_f_one_b, {1, 3, 1, true});
  EXPECT_EQ(text(programs[0]), "F0 F1+B0 F2+B1 B2");
}

// schedules.py, get_pp_rank_microbatches: 2 (p - 1 - r) + (v - 1) p + 1 forwards go ahead, so that
// the last stage's first backward does not wait for the forward beside it.
TEST(Programs, InterleavedStagesGoOneForwardFurtherAheadWherePassesArePaired) {
  const auto programs = pipeline_programs(PipelineSchedule::interleaved, {2, 4, 2, true});
  EXPECT_EQ(text(programs[1], true),
            "F0.0 F1.0 F0.1 F1.1+B0.1 F2.0+B1.1 F3.0+B0.0 F2.1+B1.0 F3.1+B2.1 B3.1 B2.0 B3.0");
}

// Gathers of a step by rank, as torch.distributed.pipelining 2.15.0 adds them to Interleaved1F1B
// (UNSHARD actions of _add_unshard_reshard).
TEST(Programs, ChunksOfALoopedPipelineAreGatheredAsInTorch) {
  struct Case {
    PipelineSizes sizes;
    std::vector<int> gathers;
  };
  for (const Case& c : {Case{{4, 8, 2}, {2, 2, 2, 2}}, Case{{2, 4, 4}, {11, 9}},
                        Case{{4, 8, 4}, {11, 11, 9, 9}}, Case{{4, 16, 4}, {15, 15, 13, 13}},
                        Case{{2, 4, 8}, {27, 25}}, Case{{4, 16, 8}, {47, 47, 45, 45}}}) {
    std::vector<int> gathers;
    for (int stage = 0; stage < c.sizes.stages; ++stage) {
      const auto chunks = chunk_gathers(PipelineSchedule::interleaved, c.sizes, stage);
      gathers.push_back(std::accumulate(chunks.begin(), chunks.end(), 0));
    }
    EXPECT_EQ(gathers, c.gathers);
  }
}

}  // namespace
}  // namespace meshwright
