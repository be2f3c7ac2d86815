// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/workspace.h"

#include <gtest/gtest.h>

#include "korthikanti.h"
#include "sim/memory/activation_memory.h"

namespace meshwright {
namespace {

Workspace backward(const PublishedRun& setup, const Stage& stage) {
  return backward_workspace(unit_bytes(setup.model, setup.job, setup.layout), setup.layout,
                            chunk_layers(setup.model, setup.layout, stage, 0), stage.chunks[0]);
}

constexpr double kRows = 4096;

// The gradients of gate and up, 2 * 14336 wide, and of the residual stream, 4096.
TEST(BackwardWorkspace, OfAGatedLayerIsTheActivationsGradients) {
  const PublishedRun setup = modern_layer();
  const Workspace needed = backward(setup, layers_only(setup));
  EXPECT_EQ(needed.operators, bytes(kRows * (2 * 14336 + 4096) * 2));
  EXPECT_EQ(needed.recompute, Bytes{});
  EXPECT_EQ(needed.activations, Bytes{});
}

// Selective recompute runs the scores of one layer again, 5abs^2/t, after the MLP has freed what it
// kept: (8 + 8)sbh/t of fc1 and GELU, 2sbh of the norm before them.
TEST(BackwardWorkspace, SelectiveHoldsOneLayersScores) {
  PublishedRun setup = korthikanti_22b();
  setup.layout.recompute_granularity = RecomputeGranularity::selective;
  const Workspace needed = backward(setup, layers_only(setup));
  const double sbh = 2048.0 * 4 * 6144;
  EXPECT_EQ(needed.recompute, bytes(5.0 * 64 * 4 * 2048 * 2048 / 8));
  EXPECT_EQ(needed.activations, bytes(-(16.0 / 8 + 2) * sbh));
}

// A unit of 6 layers is run again together; its last layer's backward finds all of it.
TEST(BackwardWorkspace, FullRecomputeRunsAUnitAgain) {
  PublishedRun setup = modern_layer();
  setup.model.num_layers = 48;
  const Stage stage = layers_only(setup);
  const Bytes layer = layer_activation_bytes(
      setup.model, {}, setup.job, micro_batch_tokens(setup.job, setup.layout), setup.layout, false);
  setup.layout.recompute_granularity = RecomputeGranularity::full;
  EXPECT_EQ(backward(setup, stage).recompute, layer);
  setup.layout.recompute_num_layers = 6;
  EXPECT_EQ(backward(setup, stage).recompute, 6 * layer);
}

// 4096 positions: the loss's second copy of the logits, 2 bytes, is larger than what the output
// linear adds when the logits' gradient has replaced the probabilities (2 - 4 bytes and the
// matrix's gradient, 128256 * 4096 of 2). Fused there is no second copy: the matrix's gradient and
// its input's.
TEST(BackwardWorkspace, OfTheHeadIsTheLossOrTheOutputMatrix) {
  PublishedRun setup = modern_layer();
  Stage stage = layers_only(setup);
  stage.chunks[0].head = true;
  EXPECT_EQ(backward(setup, stage).logits, bytes(2 * kRows * 128256));
  EXPECT_EQ(backward(setup, stage).operators, Bytes{});
  setup.job.cross_entropy_loss_fusion = true;
  EXPECT_EQ(backward(setup, stage).operators, bytes(128256.0 * 4096 * 2 + kRows * 4096 * 2));
  EXPECT_EQ(backward(setup, stage).logits, Bytes{});
}

// A one-layer stage whose table is larger than all that the layer keeps: the table's gradient when
// the rest is freed.
TEST(BackwardWorkspace, OfTheEmbeddingIsTheTableGradient) {
  PublishedRun setup = modern_layer();
  setup.job.seq_length = 512;
  Stage stage = layers_only(setup);
  stage.chunks[0].embedding = true;
  const auto kept = chunk_activations(setup, stage, 0);
  const Workspace needed = backward(setup, stage);
  EXPECT_EQ(needed.operators, bytes(128256.0 * 4096 * 2));
  EXPECT_EQ(needed.activations, Bytes{} - kept.whole);
}

// 10 of 48 layers are on the host: the first comes back when 37 of the others are free. If only one
// stayed on the device, the next comes back while that one computes.
TEST(BackwardWorkspace, HoldsTheLayerThatComesBackFromTheHost) {
  PublishedRun setup = modern_layer();
  setup.model.num_layers = 48;
  const Bytes layer = layer_activation_bytes(
      setup.model, {}, setup.job, micro_batch_tokens(setup.job, setup.layout), setup.layout, false);
  setup.layout.cpu_offloading_num_layers = 10;
  EXPECT_EQ(backward(setup, layers_only(setup)).activations, Bytes{});
  setup.layout.cpu_offloading_num_layers = 47;
  EXPECT_EQ(backward(setup, layers_only(setup)).activations, layer);
}

// Modules' inputs come back with their layer: q, k and v of the last of 48 layers, 4096 x 6144.
TEST(BackwardWorkspace, OfOffloadedModulesHoldsOneLayersInputs) {
  PublishedRun setup = modern_layer();
  setup.model.num_layers = 48;
  setup.layout.offload_modules = {kOffloadCoreAttention};
  EXPECT_EQ(backward(setup, layers_only(setup)).activations, bytes(kRows * 6144 * 2));
}

// qkv 4096 x 6144, projection 4096 x 4096, fc1 4096 x 28672, fc2 14336 x 4096: once each, however
// many layers; half with two tensor ranks; none in fp32, where the gradients are the main ones.
TEST(Placeholders, StandForEachShapeOnce) {
  PublishedRun setup = modern_layer();
  setup.model.num_layers = 48;
  const auto placeholders = [&] {
    return unit_bytes(setup.model, setup.job, setup.layout).placeholders_of(1);
  };
  const Bytes once = bytes(4096.0 * (6144 + 4096 + 28672 + 14336) * 2);
  EXPECT_EQ(placeholders(), once);
  setup.layout.tensor_parallel_size = 2;
  EXPECT_EQ(placeholders(), 0.5 * once);
  setup.job.precision = Precision::fp32;
  EXPECT_EQ(placeholders(), Bytes{});
}

}  // namespace
}  // namespace meshwright
