// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/activation_memory.h"

#include <gtest/gtest.h>

#include "korthikanti.h"
#include "sim/cost/memory.h"

namespace meshwright {
namespace {

// Bytes of one layer in units of s*b*h.
double layer_over_sbh(const PublishedRun& setup, bool fully_recomputed = false) {
  const double sbh =
      double(setup.job.seq_length) * setup.layout.micro_batch_size * setup.model.hidden_size;
  return layer_activation_bytes(setup.model, LayerKind{}, setup.job, setup.layout,
                                fully_recomputed) /
         bytes(sbh);
}

// 22B: 5as/h = 5 * 64 * 2048 / 6144 = 106.667.
constexpr double kScores = 5.0 * 64 * 2048 / 6144;

// Korthikanti 2022, equation 1.
TEST(LayerActivations, OneRankKeeps34AndTheScores) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.tensor_parallel_size = 1;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34 + kScores);
}

// Equation 2: of the 34, 10 are whole on each tensor rank.
TEST(LayerActivations, TensorParallelismDividesAllBut10) {
  EXPECT_DOUBLE_EQ(layer_over_sbh(korthikanti_22b()), 10 + 24.0 / 8 + kScores / 8);
}

// Equation 4.
TEST(LayerActivations, SequenceParallelismDividesEverything) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), (34 + kScores) / 8);
}

// Table 2: selective recompute drops the scores; full recompute keeps the input.
TEST(LayerActivations, RecomputeKeepsTable2) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 10 + 24.0 / 8);
  setup.layout.sequence_parallel = true;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34.0 / 8);
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup, true), 2.0 / 8);
  setup.layout.sequence_parallel = false;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup, true), 2.0);
}

// RMSNorm, no dropout, fused attention, SwiGLU, grouped queries: sbh(12 + 4r + 6f/h) and 4 bytes of
// log-sum-exp a head and position. Llama-3-8B: h 4096, f 14336 = 3.5h, r = 8/32: 12 + 1 + 21 = 34,
// and 4 * 32 / 4096 = 1/32.
TEST(LayerActivations, AModernBlock) {
  PublishedRun setup;
  setup.model.num_layers = 32;
  setup.model.hidden_size = 4096;
  setup.model.ffn_hidden_size = 14336;
  setup.model.num_attention_heads = 32;
  setup.model.num_query_groups = 8;
  setup.model.kv_channels = 128;
  setup.model.vocab_size = 128256;
  setup.model.activation = Activation::swiglu;
  setup.model.normalization = Normalization::rms_norm;
  setup.model.position_embedding = PositionEmbedding::rope;
  setup.model.add_bias_linear = false;
  setup.job.seq_length = 8192;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), 34 + 1.0 / 32);
  setup.layout.context_parallel_size = 4;
  EXPECT_DOUBLE_EQ(layer_over_sbh(setup), (34 + 1.0 / 32) / 4);
}

// Korthikanti 2022, figure 1, first stage, layers only, GiB: without recompute and sequence
// parallelism, and with both. 175B: 2*7 + 2*8 + 1 = 31 chunks of 4 layers in flight,
// 124 * 2048 * 12288 * (10 + 3 + 80/8) / 2^30 = 66.84; 530B: 139 chunks of one layer; 1T: 64
// micro-batches of 2 layers.
TEST(StageActivations, AreKorthikantis) {
  struct Row {
    PublishedRun setup;
    double none, sequence_and_selective;
  };
  for (auto& [setup, none, selective] :
       {Row{korthikanti_22b(), 59.25, 9.56}, Row{korthikanti_175b(), 66.84, 12.35},
        Row{korthikanti_530b(), 114.02, 23.08}, Row{korthikanti_1t(), 131.25, 26.56}}) {
    Layout layout = setup.layout;
    const Stage stage = layers_only(setup);
    const auto activations = [&] {
      return in_gibibytes(stage_memory(setup.model, setup.job, layout, stage, 0).activations);
    };
    EXPECT_NEAR(activations(), none, 0.005);  // two decimals are published
    layout.sequence_parallel = true;
    layout.recompute_granularity = RecomputeGranularity::selective;
    EXPECT_NEAR(activations(), selective, 0.005);
  }
}

// 48 layers, a checkpoint every 6: 8 inputs of 2sbh kept, 6 layers run again at once.
TEST(StageActivations, UniformRecomputeKeepsOneInputAGroup) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  const Stage stage = layers_only(setup);
  const Bytes input = layer_input_bytes(setup.model, setup.job, setup.layout);
  const auto kept = [&] {
    return stage_activation_bytes(setup.model, setup.job, setup.layout, stage);
  };
  const auto workspace = [&] {
    return recompute_workspace_bytes(setup.model, setup.job, setup.layout, stage);
  };
  EXPECT_EQ(kept(), 48 * input);
  const Bytes one_layer = workspace();
  setup.layout.recompute_num_layers = 6;
  EXPECT_EQ(kept(), 8 * input);
  EXPECT_EQ(workspace(), 6 * one_layer);
}

// The block method recomputes the first 6 of 48 layers and keeps the other 42 whole.
TEST(StageActivations, BlockRecomputeKeepsTheOtherLayersWhole) {
  PublishedRun setup = korthikanti_22b();
  const Bytes layer = layer_activation_bytes(setup.model, {}, setup.job, setup.layout, false);
  const Bytes input = layer_input_bytes(setup.model, setup.job, setup.layout);
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  setup.layout.recompute_method = RecomputeMethod::block;
  setup.layout.recompute_num_layers = 6;
  const Stage stage = layers_only(setup);
  const Bytes kept = stage_activation_bytes(setup.model, setup.job, setup.layout, stage);
  EXPECT_DOUBLE_EQ(kept / input, 6 + 42 * (layer / input));
  EXPECT_EQ(recompute_workspace_bytes(setup.model, setup.job, setup.layout, stage), layer);
}

// Selective recompute runs the scores of one layer again: 5abs^2/t.
TEST(RecomputeWorkspace, SelectiveHoldsOneLayersScores) {
  PublishedRun setup = korthikanti_22b();
  const Stage stage = layers_only(setup);
  EXPECT_EQ(recompute_workspace_bytes(setup.model, setup.job, setup.layout, stage), Bytes{});
  setup.layout.recompute_granularity = RecomputeGranularity::selective;
  EXPECT_EQ(recompute_workspace_bytes(setup.model, setup.job, setup.layout, stage),
            bytes(5.0 * 64 * 4 * 2048 * 2048 / 8));
}

// 10 of 48 layers on the host: 38 stay, and one comes back at a time.
TEST(Offload, LeavesTheOtherLayersAndOneThatComesBack) {
  PublishedRun setup = korthikanti_22b();
  const Bytes layer = layer_activation_bytes(setup.model, {}, setup.job, setup.layout, false);
  setup.layout.cpu_offloading_num_layers = 10;
  const Stage stage = layers_only(setup);
  EXPECT_DOUBLE_EQ(stage_activation_bytes(setup.model, setup.job, setup.layout, stage) / layer, 38);
  EXPECT_EQ(offload_reload_bytes(setup.model, setup.job, setup.layout, stage), layer);
}

// 22B on one stage: 4 * 2048 positions, 51200 / 8 columns, 2 + 4 bytes.
TEST(Logits, StandOnTheLastStageInTwoFormats) {
  const PublishedRun setup = korthikanti_22b();
  const auto stage = pipeline_stages(setup.model, setup.layout).front();
  EXPECT_EQ(logits_bytes(setup.model, setup.job, setup.layout, stage),
            bytes(4.0 * 2048 * 51200 / 8 * 6));
  EXPECT_EQ(logits_bytes(setup.model, setup.job, setup.layout, layers_only(setup)), Bytes{});
}

TEST(ActivationsInFlight, FollowTheSchedule) {
  const PublishedRun setup = korthikanti_175b();
  EXPECT_DOUBLE_EQ(activations_in_flight(setup.layout, 64, 0), 31);  // 2*7 + 2*8 + 1
  EXPECT_DOUBLE_EQ(activations_in_flight(korthikanti_1t().layout, 512, 63), 1);
  EXPECT_DOUBLE_EQ(activations_in_flight(Layout{}, 16, 0), 1);
}

}  // namespace
}  // namespace meshwright
