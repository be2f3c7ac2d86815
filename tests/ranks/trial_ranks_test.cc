// SPDX-License-Identifier: Apache-2.0
// The trial under every kind of layout against the same step on one rank.
//
// Started by mpirun on 1, 2 and 4 ranks, in the night on 8; each run takes the layouts of exactly
// that many ranks. Every rank also runs the whole model alone and compares its own slices with it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/trial/trial.h"
#include "sim/layout/layout.h"
#include "sim/model/model.h"
#include "tests/ranks/some_layouts.h"

namespace meshwright::calibrate {
namespace {

TEST(TrialRanks, EveryLayoutTakesTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size()))
    expect_same_step(small_model(), small_job(), l);
}

TEST(TrialRanks, LlamaTakesTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size()))
    expect_same_step(small_llama(), small_job(), l);
}

// Each tensor rank norms its own heads with the same weights; several ranks hold a shared group's
// keys. Over seeds 1 to 12 the largest difference of a weight is 4e-5 of the tensor's largest. With
// seed 7 on four tensor ranks it is 1.1e-4, where a gradient is zero but for rounding
// (same_step.cc).
TEST(TrialRanks, NormsOfQueriesAndKeysTakeTheSameStepAsOneRank) {
  StepOptions options = kOptions;
  options.seed = 8;
  Model four_groups = small_qwen();
  four_groups.num_query_groups = 4;
  Model shared = small_multi_query();
  shared.qk_layernorm = true;
  Model with_biases = small_model();
  with_biases.qk_layernorm = true;
  with_biases.position_embedding = PositionEmbedding::rope;  // else a key's bias moves no softmax
  for (const Layout& l : layouts_of(machine().world->size())) {
    expect_same_step(small_qwen(), small_job(), l, options);
    if (l.tensor_parallel_size == 1) continue;
    expect_same_step(shared, small_job(), l, options);
    expect_same_step(with_biases, small_job(), l, options);
  }
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    expect_same_step(four_groups, small_job(), l, options);
  }
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    expect_same_step(small_qwen(), small_job(), l, options);
  }
}

TEST(TrialRanks, SharedQueryGroupsTakeTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    expect_same_step(small_multi_query(), small_job(), l);
  }
}

TEST(TrialRanks, UntiedHeadWithoutBiasesTakesTheSameStepAsOneRank) {
  Model m = small_model();
  m.tied_embeddings = false;
  m.add_bias_linear = false;
  m.position_embedding = PositionEmbedding::none;
  m.activation = Activation::relu;
  for (const Layout& l : layouts_of(machine().world->size())) expect_same_step(m, small_job(), l);
}

TEST(TrialRanks, MlpWithoutAttentionTakesTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    if (needs_attention(l)) continue;
    expect_same_step(plain_mlp(), small_job(), l);
  }
}

TEST(TrialRanks, LatentAttentionTakesTheSameStepAsOneRank) {
  Model direct = small_mla();
  direct.mla->q_lora_rank = 0;
  for (const Layout& l : latent_layouts_of(machine().world->size())) {
    expect_same_step(small_mla(), small_job(), l);
    expect_same_step(direct, small_job(), l);
  }
}

TEST(TrialRanks, SlidingWindowsTakeTheSameStepAsOneRank) {
  for (const Layout& l : layouts_of(machine().world->size())) {
    expect_same_step(small_window(), small_job(), l);
  }
}

// Four query groups divide by the ranks that heads are exchanged over.
TEST(TrialRanks, ContextRanksTakeTheSameStepAsOneRank) {
  for (const Layout& l : context_layouts_of(machine().world->size())) {
    expect_same_step(small_model(), small_job(), l);
    expect_same_step(small_window(), small_job(), l);
    expect_same_step(small_mla(), small_job(), l);
    const bool routes = l.tensor_parallel_size == 1 || l.sequence_parallel;
    if (routes && l.cp_comm_type != ContextParallelAlgorithm::a2a) {
      expect_same_step(small_moe(), small_job(), l);
    }
  }
}

TEST(TrialRanks, ShardedStatesTakeTheSameStepAsOneRank) {
  for (const Layout& l : sharded_layouts_of(machine().world->size())) {
    expect_same_step(small_model(), small_job(), l);
    expect_same_step(small_llama(), small_job(), l);
    Layout with_experts = l;
    if (l.tensor_parallel_size == 1) with_experts.expert_parallel_size = 2;
    if (l.tensor_parallel_size > 1 && !l.sequence_parallel) continue;
    expect_same_step(small_moe(), small_job(), l);
    expect_same_step(small_moe(), small_job(), with_experts);
  }
}

// Device memory that comes back is poisoned: what is not copied is not a number.
TEST(TrialRanks, WhatGoesToTheHostTakesTheSameStepAsOneRank) {
  for (const Layout& l : offloading_layouts_of(machine().world->size())) {
    expect_same_step(small_model(), small_job(), l);
    expect_same_step(small_llama(), small_job(), l);
    if (l.context_parallel_size == 1) expect_same_step(small_mla(), small_job(), l);
  }
  for (const Layout& l : offloading_expert_layouts_of(machine().world->size())) {
    expect_same_step(small_moe(), small_job(), l);
  }
}

TEST(TrialRanks, OtherRankOrdersTakeTheSameStep) {
  if (machine().world->size() != 4) GTEST_SKIP() << "needs 4 ranks";
  Layout l = layout_from_text("tp=2,pp=2");
  l.rank_order = {Axis::pipeline, Axis::context, Axis::expert, Axis::data, Axis::tensor};
  expect_same_step(small_model(), small_job(), l);
  l = layout_from_text("tp=2,dp=2");
  l.rank_order = {Axis::data, Axis::context, Axis::expert, Axis::tensor, Axis::pipeline};
  expect_same_step(small_model(), small_job(), l);
}

// 8 layers are one for each of 4 stages and 2 chunks; 8 micro-batches are two groups of 4.
TEST(TrialRanks, InterleavedStagesOfFourRanksTakeTheSameStep) {
  if (machine().world->size() != 4) GTEST_SKIP() << "needs 4 ranks";
  Model m = small_model();
  m.num_layers = 8;
  expect_same_step(m, small_job(), layout_from_text("pp=4,schedule=interleaved,vpp=2"));
  m = small_llama();
  m.num_layers = 8;
  expect_same_step(m, small_job(), layout_from_text("pp=4,schedule=interleaved,vpp=2,mbs=2"));
}

TEST(TrialRanks, SplitBackwardPassesTakeTheSameStepAsOneRank) {
  for (const Layout& l : split_layouts_of(machine().world->size())) {
    expect_same_step(small_model(), small_job(), l);
    expect_same_step(small_llama(), small_job(), l);
    if (l.tensor_parallel_size == 1) expect_same_step(small_mla(), small_job(), l);
    if (!needs_attention(l)) expect_same_step(plain_mlp(), small_job(), l);
  }
}

// 8 layers are one for each of 4 stages and 2 chunks.
TEST(TrialRanks, StagesOfFourRanksThatTurnRoundTakeTheSameStep) {
  if (machine().world->size() != 4) GTEST_SKIP() << "needs 4 ranks";
  Model m = small_model();
  m.num_layers = 8;
  expect_same_step(m, small_job(), layout_from_text("pp=4,schedule=dualpipe_v,vpp=2"));
  expect_same_step(m, small_job(), layout_from_text("pp=4,schedule=zb_v,vpp=2"));
}

// Every stage in a row of 4 waits for both neighbours at some time, and each micro-batch of 1 fills
// and drains the pipeline differently.
TEST(TrialRanks, PipelinesOfOneToEightMicroBatchesTakeTheSameStep) {
  const int stages = machine().world->size();
  if (stages == 1) GTEST_SKIP() << "needs 2 ranks";
  Model m = small_model();
  m.num_layers = std::max(m.num_layers, stages);
  for (const char* schedule : {"1f1b", "gpipe"}) {
    for (int micro_batches = 1; micro_batches <= 8; ++micro_batches) {
      Job job = small_job();
      job.global_batch_size = micro_batches;
      expect_same_step(m, job,
                       layout_from_text(fmt::format("pp={},schedule={}", stages, schedule)));
    }
  }
}

// 4 layers, embedding and loss over 2 stages: 3 each, of which 2 layers. 5 layers and the loss: 3
// layers, and 2 with the loss.
TEST(TrialRanks, EmbeddingAndLossThatCountAsLayersTakeTheSameStep) {
  if (machine().world->size() != 2) GTEST_SKIP() << "needs 2 ranks";
  expect_same_step(small_model(), small_job(),
                   layout_from_text("pp=2,account_for_embedding_in_pipeline_split,"
                                    "account_for_loss_in_pipeline_split"));
  Model m = small_model();
  m.num_layers = 5;
  expect_same_step(m, small_job(), layout_from_text("pp=2,account_for_loss_in_pipeline_split"));
}

}  // namespace
}  // namespace meshwright::calibrate
