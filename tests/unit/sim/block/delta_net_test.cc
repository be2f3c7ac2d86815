// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/block/parameters.h"
#include "sim/block/recurrent.h"
#include "sim/operators/operators.h"
#include "sim/serving/kv_cache.h"
#include "sim/volume/volume.h"

namespace meshwright {
namespace {

constexpr LayerKind kLinear{.linear_attention = true};

// h 80, f 112, 2 key heads of 16, 4 value heads of 48, 4 positions: K = 32, V = 192, 256 channels.
Model small() {
  Model model;
  model.num_layers = 4;
  model.hidden_size = 80;
  model.ffn_hidden_size = 112;
  model.num_attention_heads = model.num_query_groups = 4;
  model.kv_channels = 16;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.linear_attention = DeltaNet{.linear_attention_freq = 4,
                                    .linear_num_key_heads = 2,
                                    .linear_num_value_heads = 4,
                                    .linear_key_head_dim = 16,
                                    .linear_value_head_dim = 48,
                                    .linear_conv_kernel_dim = 4};
  return model;
}

// Qwen3-Next 80B-A3B: 16 key heads and 32 value heads of 128, h 2048.
Model next() {
  Model model = small();
  model.hidden_size = 2048;
  model.linear_attention->linear_num_key_heads = 16;
  model.linear_attention->linear_num_value_heads = 32;
  model.linear_attention->linear_key_head_dim = model.linear_attention->linear_value_head_dim = 128;
  return model;
}

TEST(DeltaNet, IsEveryLayerButTheLastOfATurn) {
  const Model model = small();
  EXPECT_TRUE(layer_kind(model, 0).linear_attention);
  EXPECT_TRUE(layer_kind(model, 2).linear_attention);
  EXPECT_FALSE(layer_kind(model, 3).linear_attention);
}

// Input 2 * 32 + 2 * 192 + 2 * 4 = 456 columns of 80, projection 192 * 80, convolution 4 * 256, two
// numbers a head: 36,480 + 15,360 + 1,024 + 8 are cut; the norm's 48, two norms of 80 are not. The
// MLP has 3 * 80 * 112.
TEST(DeltaNet, ParametersFollowFromItsHeads) {
  const LayerParameters layer = layer_parameters(small(), kLinear);
  EXPECT_EQ(layer.sharded, 36'480 + 15'360 + 1'024 + 8 + 26'880);
  EXPECT_EQ(layer.replicated, 48 + 160);
}

// transformers 5.23, Qwen3NextGatedDeltaNet: 33,718,464 parameters a mixer.
TEST(DeltaNet, OfQwen3NextHasTheClassesParameters) {
  std::int64_t sum = 0;
  for (const LayerPart& part : recurrent_mixer(next())->parts()) {
    sum += part.weights() + part.cut_numbers + part.whole_numbers;
  }
  EXPECT_EQ(sum, 33'718'464);
}

// A token: 4 * 64 * 64 + 2 * 64 * 192 + 6 * 4 * 16 * 48 + 64 * (192 + 64) = 75,776.
TEST(DeltaNet, ScansInChunksOf64Tokens) { EXPECT_EQ(scan_flops(small()), 75'776.0); }

Bytes saved_by(const std::vector<Operator>& ops, std::string_view prefix) {
  Bytes sum;
  for (const Operator& op : ops) {
    if (op.name.starts_with(prefix)) sum += op.saved;
  }
  return sum;
}

// transformers 5.23, measured on the class: 361,664 bytes a token, and 64^2 + 6 * 8192 + 8 * 32 =
// 53,504 bytes a sequence.
TEST(DeltaNet, OfTransformersKeepsWhatItsCodeKeeps) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  job.kernel_fusion = KernelFusion::transformers;
  const auto ops = layer_operators(next(), kLinear, job, {});
  EXPECT_EQ(saved_by(ops, "recurrent."), bytes(128 * 361'664.0 + 53'504.0));
}

TEST(DeltaNet, TensorRanksShareItsHeads) {
  Job job;
  job.seq_length = 128;
  Layout split;
  split.tensor_parallel_size = 2;
  const auto bytes_of = [&](const Layout& layout) {
    const auto ops = layer_operators(next(), kLinear, job, layout);
    const auto scan = std::find_if(
        ops.begin(), ops.end(), [](const Operator& op) { return op.kernel == kernel::kDeltaRule; });
    return scan->forward_bytes;
  };
  EXPECT_EQ(bytes_of({}), bytes_of(split) * 2.0);
}

// State 4 * 16 * 48 numbers of 4 bytes, 4 positions of 256 channels of 2 bytes: 12,288 + 2,048.
TEST(DeltaNet, KeepsAStateASequenceAndNothingAToken) {
  const Model model = small();
  EXPECT_EQ(state_layer_bytes(model), bytes(14'336));
  const SequenceCache cache = sequence_cache(model, {}, 16);
  EXPECT_EQ(cache.state, bytes(3 * 14'336.0));
  // One layer of four attends: 2 * 4 heads * 16 * 2 bytes a token.
  EXPECT_EQ(cache.bytes_of(32), bytes(3 * 14'336.0 + 32 * 256.0));
}

// Context ranks exchange 456 + 192 columns of 64 tokens, 2 bytes each, of three layers.
TEST(DeltaNet, ExchangesSequencesForHeadsBetweenContextRanks) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  Layout layout;
  layout.context_parallel_size = 2;
  const Chunk chunk{.first_layer = 0, .num_layers = 4};
  int found = 0;
  for (const Transfer& one : chunk_transfers(small(), job, layout, chunk, 0)) {
    if (one.name != "scan all-to-all") continue;
    ++found;
    EXPECT_EQ(one.payload, bytes(64 * 648 * 2.0));
    EXPECT_EQ(one.times_per_step, 3.0);
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace meshwright
