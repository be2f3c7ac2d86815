// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "equal_stages.h"
#include "sim/layout/stages.h"
#include "sim/rules/rules.h"
#include "sim/volume/volume.h"

namespace meshwright {
namespace {

constexpr auto kV = PipelineSchedule::dualpipe_v;
constexpr auto kDual = PipelineSchedule::dualpipe;

// p stages of DualPipeV work as the first p of 2p of DualPipe, whose micro-batches come from two
// ends, half from each.
TEST(DualPipeV, IsHalfOfDualPipe) {
  for (const int p : {2, 3, 4}) {
    const int m = 3 * p;
    for (int stage = 0; stage < p; ++stage) {
      const StageProgram half = traits(kV).program({p, m, 2}, stage);
      const StageProgram whole = traits(kDual).program({2 * p, 2 * m, 2}, stage);
      ASSERT_EQ(half.size(), whole.size());
      for (std::size_t i = 0; i < half.size(); ++i) {
        EXPECT_EQ(half[i].pass, whole[i].pass);
        EXPECT_EQ(half[i].chunk, whole[i].chunk);
        EXPECT_EQ(half[i].with_next, whole[i].with_next);
        EXPECT_EQ(half[i].micro_batch, whole[i].micro_batch % m);
      }
    }
  }
}

// Published: the bubble and the activations of DualPipe, on half the devices: p = 4, F = 1, B = 2,
// W = 1: (8/2-1)(F&B + (B+W) - 3W) = 3 (4 + 3 - 3) = 12, and 2p+1 = 9 chunks of activations.
TEST(DualPipeV, HasTheBubbleAndTheActivationsOfDualPipeOnHalfTheStages) {
  const PassTimes work = chunk_times(1, 2, 1);
  EXPECT_DOUBLE_EQ(traits(kV).bubble(4, work).value(), 12);
  EXPECT_EQ(traits(kV).bubble(4, work), traits(kDual).bubble(8, work));
  EXPECT_EQ(traits(kV).peak({4, 8, 2}, 0), 9);
  EXPECT_EQ(traits(kV).peak({4, 8, 2}, 0), traits(kDual).peak({8, 16, 2}, 0));
}

// The identities of traits_test.cc hold from 2p micro-batches on, an odd number included.
TEST(DualPipeV, RunsAnOddNumberOfMicroBatches) {
  const PassTimes work = chunk_times(1, 1.5, 0.5);
  for (const int p : {2, 3, 5}) {
    const auto times = equal_stages(p, 2, work);
    const Timeline t = run(kV, 2 * p + 1, times);
    EXPECT_EQ(t.bubble(0), traits(kV).bubble(p, work));
    EXPECT_DOUBLE_EQ(t.total.value(), closed_form(kV, 2 * p + 1, times).value());
  }
}

Model eight_layers() {
  Model model;
  model.num_layers = 8;
  model.hidden_size = 64;
  model.ffn_hidden_size = 256;
  model.num_attention_heads = model.num_query_groups = 4;
  model.kv_channels = 16;
  model.vocab_size = 1024;
  return model;
}

Layout layout_of(PipelineSchedule schedule, int stages) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.virtual_pipeline_parallel_size = 2;
  layout.schedule = schedule;
  return layout;
}

// Stage r holds chunks r and 2p-1-r: the model once, where DualPipe holds it twice.
TEST(DualPipeV, HoldsTheModelOnceAsAV) {
  const auto stages = pipeline_stages(eight_layers(), layout_of(kV, 2));
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_EQ(stages[0].num_layers() + stages[1].num_layers(), 8);
  EXPECT_TRUE(stages[0].has_embedding() && stages[0].has_head());
  EXPECT_EQ(stages[1].chunks[1].first_layer, 4);
}

// Messages are those of ZB-V: the V turns inside a stage, and no other stage holds the same layers.
TEST(DualPipeV, SendsAsAV) {
  Job job;
  job.global_batch_size = 4;
  const Model model = eight_layers();
  const Layout folded = layout_of(PipelineSchedule::zb_v, 2);
  const Volume here = volume(model, job, layout_of(kV, 2));
  const Volume there = volume(model, job, folded);
  for (std::size_t s = 0; s < 2; ++s) EXPECT_EQ(here.stages[s].sent(), there.stages[s].sent());
}

TEST(DualPipeV, NeedsTwoChunksAStageAndTwoMicroBatchesAStage) {
  Job job;
  const auto broken = [&](int stages, int chunks, int micro_batches) -> std::string_view {
    job.global_batch_size = micro_batches;
    Layout layout = layout_of(kV, stages);
    layout.virtual_pipeline_parallel_size = chunks;
    const auto violation = check_layout(eight_layers(), job, layout, {});
    return violation ? rule_text(violation->rule).name : "";
  };
  EXPECT_EQ(broken(1, 2, 4), "schedule_needs_pipeline");
  EXPECT_EQ(broken(2, 1, 4), "schedule_fixes_virtual_size");
  EXPECT_EQ(broken(2, 2, 3), "schedule_needs_micro_batches");
  EXPECT_EQ(broken(2, 2, 5), "");
}

}  // namespace
}  // namespace meshwright
