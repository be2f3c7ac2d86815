// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/stages.h"

#include <gtest/gtest.h>

#include "sim/schedule/traits.h"
#include "tests/unit/sim/layout/listed.h"

namespace meshwright {
namespace {

Model with_layers(int num_layers) {
  Model model;
  model.num_layers = num_layers;
  return model;
}

Layout pipeline(int stages, int chunks = 1,
                PipelineSchedule schedule = PipelineSchedule::one_f_one_b) {
  Layout layout;
  layout.pipeline_parallel_size = stages;
  layout.virtual_pipeline_parallel_size = chunks;
  layout.schedule = schedule;
  return layout;
}

TEST(Stages, OneStageHoldsEverything) {
  const auto stages = pipeline_stages(with_layers(5), pipeline(1));
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_EQ(stages[0].num_layers(), 5);
  EXPECT_TRUE(stages[0].has_embedding());
  EXPECT_TRUE(stages[0].has_head());
}

// 12 layers over 4 stages: 3 each, stage r begins at 3r.
TEST(Stages, EvenStagesHoldConsecutiveLayers) {
  const auto stages = pipeline_stages(with_layers(12), pipeline(4));
  for (int r = 0; r < 4; ++r) {
    const Stage& stage = stages[static_cast<std::size_t>(r)];
    ASSERT_EQ(stage.chunks.size(), 1U);
    EXPECT_EQ(stage.chunks[0].first_layer, 3 * r);
    EXPECT_EQ(stage.chunks[0].num_layers, 3);
    EXPECT_EQ(stage.has_embedding(), r == 0);
    EXPECT_EQ(stage.has_head(), r == 3);
  }
}

// 61 layers, 4 in the first and 5 in the last of 4 stages: (61 - 9) / 2 = 26 for the two between.
TEST(Stages, FirstAndLastStageCanHaveTheirOwnNumber) {
  Layout layout = pipeline(4);
  layout.num_layers_in_first_pipeline_stage = 4;
  layout.num_layers_in_last_pipeline_stage = 5;
  const auto stages = pipeline_stages(with_layers(61), layout);
  EXPECT_EQ(stages[0].num_layers(), 4);
  EXPECT_EQ(stages[1].num_layers(), 26);
  EXPECT_EQ(stages[2].num_layers(), 26);
  EXPECT_EQ(stages[3].num_layers(), 5);
  EXPECT_EQ(stages[3].chunks[0].first_layer, 56);
}

// 5 layers and multi-token prediction over 3 stages of 2 chunks: stage 0 holds chunks 0 and 3
// (layers 0 and 1, and 4), stage 1 chunks 1 and 4 (layer 2, and the prediction), stage 2 chunks 2
// and 5 (layer 3, and the loss). Between prediction and loss two hidden states pass for each token.
TEST(Stages, AListSaysWhereEverythingIs) {
  Layout layout = pipeline(3, 2, PipelineSchedule::interleaved);
  layout.pipeline_layout = std::get<PipelineLayout>(read_pipeline_layout("Ett|t|t|t|m|L"));
  Model model = with_layers(5);
  model.mtp_num_layers = 1;
  const auto stages = pipeline_stages(model, layout);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_TRUE(stages[0].chunks[0].embedding);
  EXPECT_EQ(stages[0].chunks[0].num_layers, 2);
  EXPECT_EQ(stages[0].chunks[1].first_layer, 4);
  EXPECT_EQ(stages[0].num_layers(), 3);
  EXPECT_EQ(stages[1].chunks[0].first_layer, 2);
  EXPECT_EQ(stages[1].chunks[1].num_layers, 0);
  EXPECT_TRUE(stages[1].has_mtp());
  EXPECT_FALSE(stages[1].has_head());
  EXPECT_EQ(stages[1].chunks[1].hidden_states_in, 1);
  EXPECT_EQ(stages[1].chunks[1].hidden_states_out, 2);
  EXPECT_FALSE(stages[2].has_mtp());
  EXPECT_TRUE(stages[2].has_head());
  EXPECT_EQ(stages[2].chunks[1].hidden_states_in, 2);
  // The prediction starts from normed states.
  EXPECT_TRUE(has_final_norm(model, stages[1].chunks[1]));
  EXPECT_FALSE(has_final_norm(model, stages[2].chunks[1]));
  EXPECT_TRUE(has_final_norm(with_layers(5), stages[2].chunks[1]));
}

// 16 layers, 4 stages, 2 chunks: chunks of 2 layers; stage 1 holds model chunks 1 and 5, layers 2-3
// and 10-11 (the example in Megatron-LM's schedules.py).
TEST(Stages, InterleavedChunksAreDealtInTurn) {
  const auto stages =
      pipeline_stages(with_layers(16), pipeline(4, 2, PipelineSchedule::interleaved));
  EXPECT_EQ(stages[1].chunks[0].first_layer, 2);
  EXPECT_EQ(stages[1].chunks[1].first_layer, 10);
  EXPECT_TRUE(stages[0].chunks[0].embedding);
  EXPECT_FALSE(stages[0].chunks[1].embedding);
  EXPECT_FALSE(stages[3].chunks[0].head);
  EXPECT_TRUE(stages[3].chunks[1].head);
}

// ZB-V with 4 stages: stage 1 holds model chunks 1 and 2p-1-1 = 6; stage 0 has embedding and head.
TEST(Stages, ZbVFoldsTheModel) {
  const auto stages = pipeline_stages(with_layers(16), pipeline(4, 2, PipelineSchedule::zb_v));
  EXPECT_EQ(stages[1].chunks[0].first_layer, 2);
  EXPECT_EQ(stages[1].chunks[1].first_layer, 12);
  EXPECT_EQ(stages[3].chunks[1].first_layer, 8);
  EXPECT_TRUE(stages[0].has_embedding());
  EXPECT_TRUE(stages[0].has_head());
  EXPECT_FALSE(stages[3].has_head());
}

// DualPipe with 4 stages of 4 layers: stage 1 holds chunk 1 (layers 4-7) and chunk 2 (8-11).
TEST(Stages, DualPipeHoldsEachLayerTwice) {
  const auto stages = pipeline_stages(with_layers(16), pipeline(4, 2, PipelineSchedule::dualpipe));
  int layers = 0;
  for (const Stage& stage : stages) layers += stage.num_layers();
  EXPECT_EQ(layers, 32);
  EXPECT_EQ(stages[1].chunks[0].first_layer, 4);
  EXPECT_EQ(stages[1].chunks[1].first_layer, 8);
  EXPECT_TRUE(stages[3].has_embedding());
  EXPECT_TRUE(stages[3].has_head());
}

// A list is in the model's order: a V folds it at its last stage, DualPipe mirrors it.
TEST(Stages, ListsAreFoldedAndMirrored) {
  Layout v = pipeline(2, 2, PipelineSchedule::zb_v);
  v.pipeline_layout = listed("Et|tt|ttt|ttttL");
  const auto folded = pipeline_stages(with_layers(10), v);
  EXPECT_EQ(folded[0].chunks[1].first_layer, 6);
  EXPECT_EQ(folded[0].num_layers(), 1 + 4);
  EXPECT_EQ(folded[1].num_layers(), 2 + 3);
  EXPECT_TRUE(folded[0].has_head());
  Layout dual = pipeline(4, 2, PipelineSchedule::dualpipe);
  dual.pipeline_layout = listed("Et|tt|ttt|ttttL");
  const auto mirrored = pipeline_stages(with_layers(10), dual);
  EXPECT_EQ(mirrored[0].num_layers(), 1 + 4);
  EXPECT_EQ(mirrored[3].num_layers(), 4 + 1);
  EXPECT_EQ(mirrored[1].chunks[1].first_layer, 3);
  EXPECT_TRUE(mirrored[3].has_embedding());
}

TEST(Stages, EveryScheduleCoversEachLayerEquallyOften) {
  for (const ScheduleTraits* t : pipeline_schedules) {
    const auto stages =
        pipeline_stages(with_layers(24), pipeline(4, t->fewest_chunks, t->schedule));
    std::vector<int> held(24, 0);
    for (const Stage& stage : stages) {
      for (const Chunk& chunk : stage.chunks) {
        for (int i = 0; i < chunk.num_layers; ++i) {
          ++held[static_cast<std::size_t>(chunk.first_layer + i)];
        }
      }
    }
    EXPECT_EQ(held, std::vector<int>(24, t->mirrored() ? 2 : 1));
  }
}

// h = 2048, f = 4h, V = 64h: a layer costs 4h^2 + 12h^2 = 16h^2, the output linear 64h^2, that is 4
// layers; 20 layers' worth in all.
Model with_a_large_head() {
  Model model = with_layers(16);
  model.hidden_size = 2048;
  model.num_attention_heads = 16;
  model.kv_channels = 128;
  model.ffn_hidden_size = 8192;
  model.vocab_size = 131072;
  return model;
}

// Two stages share 10 each: the sum passes 10 with the 11th layer, which still stays. Four share 5:
// it passes 5 with the 6th, 10 with the 11th, 15 with the 16th; the head is left for the last.
TEST(StagesByCost, ABlockThatPassesTheShareStillStays) {
  EXPECT_EQ(layers_by_cost(with_a_large_head(), 1), std::vector<int>({16}));
  EXPECT_EQ(layers_by_cost(with_a_large_head(), 2), std::vector<int>({11, 5}));
  EXPECT_EQ(layers_by_cost(with_a_large_head(), 4), std::vector<int>({6, 5, 5, 0}));
}

// Eight share 2.5. After layers 3, 6, 8, 11, 13 and 16 the sum has passed 2.5 to 15; the head
// passes 17.5, so that the last stage holds the cast and the loss alone. Sixteen share 1.25, and
// head and cast end a stage each: 12 + 1 + 1, and the loss on the 15th.
TEST(StagesByCost, OneBlockEndsOneStageAtMost) {
  EXPECT_EQ(layers_by_cost(with_a_large_head(), 8), std::vector<int>({3, 3, 2, 3, 2, 3, 0, 0}));
  EXPECT_EQ(layers_by_cost(with_a_large_head(), 16).size(), 15U);
}

TEST(StagesByCost, TheirStagesHoldAllLayersInOrder) {
  Layout layout = pipeline(4);
  layout.pipeline_engine = PipelineEngine::nanotron;
  const auto stages = pipeline_stages(with_a_large_head(), layout);
  ASSERT_EQ(stages.size(), 4U);
  EXPECT_EQ(stages[2].chunks[0].first_layer, 11);
  EXPECT_EQ(stages[3].num_layers(), 0);
  EXPECT_TRUE(stages[3].has_head());
  EXPECT_TRUE(stages[0].has_embedding());
}

}  // namespace
}  // namespace meshwright
