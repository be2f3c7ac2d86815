// SPDX-License-Identifier: Apache-2.0
// Mamba-2, Kimi delta attention, short convolution and lightning attention, in layers that come in
// no regular turn. Classes: transformers 5.23; a layer of small sizes, and of published ones.
#include "sim/block/recurrent.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/block/layer.h"
#include "sim/block/parameters.h"
#include "sim/operators/operators.h"
#include "sim/serving/kv_cache.h"
#include "sim/volume/volume.h"

namespace meshwright {
namespace {

constexpr LayerKind kMixerAlone{.linear_attention = true, .mlp = false};

// h 80, f 112, 4 heads of 16: two layers of one part each, then two with an MLP behind.
Model layered(std::string_view pattern = "M-ma") {
  Model model;
  model.num_layers = static_cast<int>(pattern.size());
  model.hidden_size = 80;
  model.ffn_hidden_size = 112;
  model.num_attention_heads = model.num_query_groups = 4;
  model.kv_channels = 16;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::none;
  model.add_bias_linear = false;
  model.hybrid_layer_pattern = pattern;
  return model;
}
// 6 heads of 32 in 2 groups with states of 48, chunks of 64: I = 192, 2 * 2 * 48 = 192.
Model state_space() {
  Model model = layered();
  model.state_space = StateSpace{.mamba_num_heads = 6,
                                 .mamba_head_dim = 32,
                                 .mamba_num_groups = 2,
                                 .mamba_state_dim = 48,
                                 .mamba_conv_kernel_dim = 4,
                                 .mamba_chunk_size = 64};
  return model;
}
// 3 heads of 16: D = 48.
Model kimi_delta() {
  Model model = layered();
  model.kimi_delta = KimiDelta{.kda_num_heads = 3, .kda_head_dim = 16, .kda_conv_kernel_dim = 4};
  return model;
}
Model short_convolution() {
  Model model = layered();
  model.short_convolution = ShortConvolution{3};
  return model;
}
// 3 heads of 32, chunks of 64: D = 96.
Model lightning() {
  Model model = layered();
  model.lightning_attention =
      Lightning{.lightning_num_heads = 3, .lightning_head_dim = 32, .lightning_chunk_size = 64};
  return model;
}

std::int64_t mixer_parameters(const Model& model) {
  std::int64_t sum = 0;
  for (const LayerPart& part : recurrent_mixer(model)->parts()) {
    sum += part.weights() + part.cut_numbers + part.whole_numbers;
  }
  return sum;
}

// Bytes of 128 tokens of one sequence that transformers' own code keeps of the mixer.
double kept_by_transformers(const Model& model) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  job.kernel_fusion = KernelFusion::transformers;
  double sum = 0;
  for (const Operator& op : layer_operators(model, kMixerAlone, job, {})) {
    if (op.name.starts_with("recurrent.")) sum += op.saved.value();
  }
  return sum;
}

TEST(LayerPattern, SaysAMixerAndAnMlpOfEachLayer) {
  const Model model = state_space();
  EXPECT_EQ(layer_kind(model, 0), (LayerKind{.linear_attention = true, .mlp = false}));
  EXPECT_EQ(layer_kind(model, 1), (LayerKind{.mixer = false}));
  EXPECT_EQ(layer_kind(model, 2), (LayerKind{.linear_attention = true}));
  EXPECT_EQ(layer_kind(model, 3), LayerKind{});
}

TEST(LayerPattern, HasAnIndexForEachKind) {
  for (std::size_t k = 0; k < kLayerKinds; ++k) EXPECT_EQ(kind_index(layer_kind_of(k)), k);
}

// A part alone has one norm of 80; the MLP 3 * 80 * 112 = 26,880.
TEST(LayerPattern, APartAloneHasOneNorm) {
  const Model model = state_space();
  EXPECT_EQ(layer_parameters(model, layer_kind(model, 1)).total(), 26'880 + 80);
  EXPECT_EQ(layer_parameters(model, layer_kind(model, 0)).total(), mixer_parameters(model) + 80);
  EXPECT_EQ(layer_parameters(model, layer_kind(model, 2)).total(),
            mixer_parameters(model) + 26'880 + 160);
}

// Tensor ranks reduce what a part puts out: one call a mixer alone and an MLP alone, two a layer of
// both. "M-ma": 3 of mixers, 3 of MLPs.
TEST(LayerPattern, TensorRanksReduceEachPart) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  Layout layout;
  layout.tensor_parallel_size = 2;
  const Chunk chunk{.first_layer = 0, .num_layers = 4};
  double mixers = 0, mlps = 0;
  for (const Transfer& one : chunk_transfers(state_space(), job, layout, chunk, 0)) {
    if (one.name == transfer_names::kAttention.output_all_reduce) mixers += one.times_per_step;
    if (one.name == transfer_names::kMlp.output_all_reduce) mlps += one.times_per_step;
  }
  EXPECT_EQ(mixers, 3.0);
  EXPECT_EQ(mlps, 3.0);
}

// 80 * (192 + 384 + 6) + 192 * 80 weights, 5 * 384 of the convolution with its bias, 3 * 6 of
// heads, 192 of the norm.
TEST(StateSpace, ParametersFollowFromItsHeads) {
  EXPECT_EQ(mixer_parameters(state_space()), 46'560 + 15'360 + 1'920 + 18 + 192);
}

// transformers' Mamba-2 block of 128 heads of 64, 8 groups, states of 128, h 4096: 109,640,064 with
// its norm of 4096; a sequence keeps 4,194,304 bytes in fp32 and 81,920 of the convolution.
TEST(StateSpace, OfPublishedSizeIsTheClasses) {
  Model model = state_space();
  model.hidden_size = 4096;
  model.state_space = StateSpace{.mamba_num_heads = 128};
  EXPECT_EQ(mixer_parameters(model) + 4096, 109'640'064);
  EXPECT_EQ(state_layer_bytes(model), bytes(4'194'304.0 + 81'920.0));
}

// 2 * 64 * 6 * 48 + 2 * 64 * 192 + 4 * 48 * 192. With linears 2 * 80 * (582 + 192), the padded
// convolution 2 * 4 * 384 * 131 / 128 and PyTorch's sum over chunks 2 * 9 * 192 * 48 / 128 the
// class has 226,584.
TEST(StateSpace, ScansInItsChunks) {
  EXPECT_EQ(scan_flops(state_space()), 98'304.0);
  EXPECT_EQ(98'304.0 + 123'840.0 + 3'144.0 + 1'296.0, 226'584.0);
}

// The class keeps 22,822.703 bytes a token; its norm's are 10 * 80 + 4, and 4 * 80 a sequence.
TEST(StateSpace, OfTransformersKeepsWhatItsCodeKeeps) {
  const double norm = 10 * 80 + 4 + 4.0 * 80 / 128;
  EXPECT_NEAR(kept_by_transformers(state_space()) / 128 + norm, 22'822.703125, 0.6);
}

// Fused kernels keep the input linear's output, the scan's and the norm's: (582 + 2 * 192) * 2
// bytes.
TEST(StateSpace, FusedKeepsNothingOfTheConvolution) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  double sum = 0;
  for (const Operator& op : layer_operators(state_space(), kMixerAlone, job, {})) {
    if (op.name.starts_with("recurrent.")) sum += op.saved.value();
  }
  EXPECT_EQ(sum, 128 * (582 + 2 * 192) * 2.0);
}

// 80 * (144 + 3) + 2 * 16 * (80 + 48) + 48 * 80 weights, 4 * 144 of the convolution, a decay a
// head, a bias a channel, a norm of 16.
TEST(KimiDelta, ParametersFollowFromItsHeads) {
  EXPECT_EQ(mixer_parameters(kimi_delta()), 11'760 + 4'096 + 3'840 + 576 + 3 + 48 + 16);
}

// The class counts 6 * 64 * 48 + 6 * 48 * 16 of them, and 117,371 with linears, MLP and
// convolution; its 4 * 64 * 48 of keys with keys and queries with keys are element by element.
TEST(KimiDelta, ScansInChunksOf64Tokens) {
  EXPECT_EQ(scan_flops(kimi_delta()), 23'040.0 + 12'288.0);
  EXPECT_EQ(23'040 + 2 * (11'760 + 4'096 + 3'840) + 2 * 26'880 + 1'179, 117'371);
}

// The class keeps 62,084.4 bytes a token of the layer; two norms of 10 * 80 + 4 and the MLP's 8 *
// 112 are not the mixer's.
TEST(KimiDelta, OfTransformersKeepsWhatItsCodeKeeps) {
  const double mixer = 62'084.4375 - 2 * 804 - 896;
  EXPECT_NEAR(kept_by_transformers(kimi_delta()) / 128 / mixer, 1.0, 0.02);
}

// Kimi-Linear 48B: 32 heads of 128 keep 2,097,152 bytes in fp32 and 4 * 12,288 numbers.
TEST(KimiDelta, OfKimiLinearKeepsTheClassesState) {
  Model model = kimi_delta();
  model.kimi_delta = KimiDelta{.kda_num_heads = 32};
  EXPECT_EQ(state_layer_bytes(model), bytes(2'097'152.0 + 4 * 12'288 * 2.0));
}

// Nothing is kept a token where no layer attends: engines keep such a model otherwise.
TEST(LayerPattern, WithoutAttentionHasNoKeyValueLayout) {
  Model model = state_space();
  EXPECT_TRUE(has_kv_layout(model));
  model.hybrid_layer_pattern = "MmM-";
  EXPECT_FALSE(has_kv_layout(model));
}

// What decays and the gate come from is summed over tensor ranks: 16 columns of 128 tokens each.
TEST(KimiDelta, TensorRanksSumTheGatesGradient) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  Layout layout;
  layout.tensor_parallel_size = 3;
  const auto all =
      chunk_transfers(kimi_delta(), job, layout, {.first_layer = 0, .num_layers = 1}, 0);
  const auto found = std::find_if(all.begin(), all.end(), [](const Transfer& one) {
    return one.name == transfer_names::kGates.input_gradient_all_reduce;
  });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->payload, bytes(128 * 16 * 2.0));
}

// 4 * 80^2 + 3 * 80; three positions of 80 numbers; 12 * 80 bytes a token.
TEST(ShortConvolution, IsTwoLinearsAndAFewPositions) {
  EXPECT_EQ(mixer_parameters(short_convolution()), 25'840);
  EXPECT_EQ(state_layer_bytes(short_convolution()), bytes(480));
  EXPECT_EQ(kept_by_transformers(short_convolution()), 128 * 960.0);
}

// 5 * 80 * 96 + 96; 4 * 64 * 96 + 4 * 96 * 32; 3 * 32^2 numbers of 16 bits; 28 * 96 + 2 * 3 * 64 +
// 2 * 3 * 32^2 / 64 + 4 bytes a token, less 2 * 64 * 96 of the sequence.
TEST(Lightning, KeepsItsStateIn16Bits) {
  EXPECT_EQ(mixer_parameters(lightning()), 38'496);
  EXPECT_EQ(scan_flops(lightning()), 36'864.0);
  EXPECT_EQ(state_layer_bytes(lightning()), bytes(6'144));
  EXPECT_EQ(kept_by_transformers(lightning()), 128 * (2'688 + 384 + 96 + 4.0) - 12'288);
}

// Nemotron 3: routed experts work on 32 columns of 80. Two linears of 80 * 32, 4 experts of
// 2 * 32 * 16 where the activation is not gated, a router of 80 * 4, a shared one of 2 * 80 * 24.
TEST(LatentExperts, WorkOnANarrowerHiddenState) {
  Model model = layered("E");
  model.activation = Activation::relu;
  model.moe = MixtureOfExperts{.num_moe_experts = 4,
                               .moe_router_topk = 2,
                               .moe_ffn_hidden_size = 16,
                               .moe_shared_expert_intermediate_size = 24,
                               .moe_latent_size = 32};
  const LayerParameters layer = layer_parameters(model, layer_kind(model, 0));
  EXPECT_EQ(layer.expert, 4 * 1'024);
  EXPECT_EQ(layer.replicated, 2 * 2'560 + 320 + 80);
  EXPECT_EQ(layer.sharded, 3'840);
  // Expert ranks send a token's 32 numbers, not 80.
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  Layout layout;
  layout.expert_parallel_size = 2;
  layout.data_parallel_size = 2;
  layout.moe_token_dispatcher_type = MoeTokenDispatcherType::alltoall;
  const auto all = chunk_transfers(model, job, layout, {.first_layer = 0, .num_layers = 1}, 0);
  const auto found = std::find_if(all.begin(), all.end(), [](const Transfer& one) {
    return one.name == transfer_names::kExperts.dispatch;
  });
  ASSERT_NE(found, all.end());
  EXPECT_EQ(found->payload, bytes(128 * 2 * 32 * 2.0));
}

}  // namespace
}  // namespace meshwright
