// SPDX-License-Identifier: Apache-2.0
// Attention behind an indexer (DeepSeek-V3.2, GLM-5.2, MiniMax-M3), compressed attention with
// hyper-connections (DeepSeek-V4), Mamba-1, and attention beside Mamba-2 (Falcon-H1). Classes:
// transformers 5.23; a layer of small sizes, and of published ones.
#include <gtest/gtest.h>

#include "sim/block/indexer.h"
#include "sim/block/layer.h"
#include "sim/block/parameters.h"
#include "sim/block/recurrent.h"
#include "sim/memory/activation_memory.h"
#include "sim/operators/builders.h"
#include "sim/serving/kv_cache.h"
#include "sim/volume/volume.h"

namespace meshwright {
namespace {

constexpr LayerKind kOwn{};
constexpr LayerKind kBare{.without_indexer = true};
constexpr LayerKind kWindow{.sliding_window = true};

// h 96, f 112, 4 heads of 32 + 16 and 48, latents of 48 and 32; 2 indexer heads of 32.
Model indexed() {
  Model model;
  model.num_layers = 4;
  model.hidden_size = 96;
  model.ffn_hidden_size = 112;
  model.num_attention_heads = model.num_query_groups = 4;
  model.kv_channels = 48;
  model.activation = Activation::swiglu;
  model.normalization = Normalization::rms_norm;
  model.position_embedding = PositionEmbedding::rope;
  model.add_bias_linear = false;
  model.mla = LatentAttention{.q_lora_rank = 48,
                              .kv_lora_rank = 32,
                              .qk_head_dim = 32,
                              .qk_pos_emb_head_dim = 16,
                              .v_head_dim = 48,
                              .dsa_indexer_n_heads = 2,
                              .dsa_indexer_head_dim = 32,
                              .dsa_indexer_topk = 16};
  model.hybrid_layer_pattern = "aass";
  return model;
}

// h 64, 4 heads of 16 in 2 output groups; latents of 24 and 8; rates 4 and 16, 3 indexer heads of
// 8, a window of 8, 2 streams.
Model compressed() {
  Model model = indexed();
  model.mla.reset();
  model.hidden_size = 64;
  model.num_query_groups = 1;
  model.kv_channels = 16;
  model.attention_sinks = true;
  model.sliding_window = 8;
  model.num_residual_streams = 2;
  model.compressed_attention = CompressedAttention{.q_lora_rank = 24,
                                                   .o_lora_rank = 8,
                                                   .o_groups = 2,
                                                   .sparse_compress_rate = 4,
                                                   .heavy_compress_rate = 16,
                                                   .indexer_n_heads = 3,
                                                   .indexer_head_dim = 8,
                                                   .indexer_topk = 4};
  model.hybrid_layer_pattern = "wasa";
  return model;
}

std::int64_t attention_numbers(const Model& model, LayerKind kind) {
  std::int64_t sum = 0;
  for (const LayerPart& part : layer_parts(model, kind)) {
    const bool stream = part.module == Module::norm && part.inputs > 0;
    if (stream || part.module == Module::mlp || part.names == nullptr) continue;
    sum += part.weights() + part.cut_numbers + part.whole_numbers;
  }
  return sum;
}

// 2 * 32 * 48 queries, 96 * 32 keys with a layer norm of 2 * 32, 96 * 2 weights: 6,400 numbers that
// the layer of another's indexer lacks.
TEST(Indexer, IsTheDifferenceBetweenLayers) {
  const Model model = indexed();
  EXPECT_EQ(layer_kind(model, 1), kOwn);
  EXPECT_EQ(layer_kind(model, 2), kBare);
  EXPECT_EQ(layer_parameters(model, kOwn).total() - layer_parameters(model, kBare).total(),
            3'072 + 3'072 + 64 + 192);
}

// DeepSeek-V3.2: 13,959,424 parameters a layer, GLM-5: 9,371,904.
TEST(Indexer, OfPublishedSizesIsTheClasses) {
  const auto numbers = [](int h, int q, int heads) {
    Model model = indexed();
    model.hidden_size = h;
    model.mla->q_lora_rank = q;
    model.mla->dsa_indexer_n_heads = heads;
    model.mla->dsa_indexer_head_dim = 128;
    LayerParts parts;
    append_indexer(parts, model, kOwn);
    std::int64_t sum = 0;
    for (const LayerPart& part : parts) sum += part.weights() + part.whole_numbers;
    return sum;
  };
  EXPECT_EQ(numbers(7168, 1536, 64), 13'959'424);
  EXPECT_EQ(numbers(6144, 2048, 32), 9'371'904);
}

// The class's own counter, 128 tokens, eager: 286,592 FLOPs a token, of which 2 * 128 * 2 * 33 are
// scores. Backward has none of the indexer's.
TEST(Indexer, FlopsOfALayerAreTheClasses) {
  Job job;
  job.seq_length = 128;
  job.attention_kernel = AttentionKernel::unfused;
  double forward = 0, backward = 0;
  for (const Operator& op : layer_operators(indexed(), kOwn, job, {})) {
    if (op.kind == OperatorKind::memory_bound) continue;
    forward += op.forward_flops.value();
    if (op.name.starts_with("indexer.")) backward += op.backward_flops.value() + op.saved.value();
  }
  EXPECT_EQ(forward / 128, 286'592);
  EXPECT_EQ(backward, 0);
}

// 128 queries see their positions up to 16: 16 * 128 - 16 * 16 / 2.
TEST(Indexer, AQuerySeesTheChosenPositions) {
  const Numerics numerics;
  EXPECT_EQ(attention_pairs(indexed(), kOwn, numerics, {1, 128, 128}, 1), 1'920);
  EXPECT_EQ(attention_pairs(indexed(), kBare, numerics, {1, 128, 128}, 1), 1'920);
}

// The latent of 32 + 16 numbers in 16 bits; the indexer's key in fp8 with an fp32 scale.
TEST(Indexer, OnlyItsOwnLayersCacheKeys) {
  const Model model = indexed();
  EXPECT_EQ(kv_layer_bytes(model, kOwn, KvCacheFormat::bf16).full, bytes(96 + 36));
  EXPECT_EQ(kv_layer_bytes(model, kBare, KvCacheFormat::bf16).full, bytes(96));
  EXPECT_EQ(kv_stage_bytes(model, KvCacheFormat::bf16, 1).full, bytes(4 * 96 + 2 * 36));
  EXPECT_EQ(kv_stage_bytes(model, KvCacheFormat::bf16, 2).full, bytes(2 * 96));
}

// All layers: queries 24 * 64 + 24 + 64 * 24, keys 16 * 64 + 16, output 16 * (4 * 16 / 2) + 64 *
// 16, sinks 4. Heavy rate: 2 * 16 * 64 + 16 * 16 + 16. Sparse rate: 4 * 16 * 64 + 4 * 32 + 16, and
// the indexer 4 * 8 * 64 + 4 * 16 + 8 + 24 * 24 + 3 * 64.
TEST(CompressedAttention, ParametersFollowFromTheKind) {
  const Model model = compressed();
  const std::int64_t all = 1'536 + 24 + 1'536 + 1'024 + 16 + 512 + 1'024 + 4;
  EXPECT_EQ(layer_kind(model, 0), kWindow);
  EXPECT_EQ(attention_numbers(model, kWindow), all);
  EXPECT_EQ(attention_numbers(model, kBare), all + 2'048 + 256 + 16);
  EXPECT_EQ(attention_numbers(model, kOwn), all + 4'096 + 128 + 16 + 2'048 + 64 + 8 + 576 + 192);
}

// 32 queries: a window of 8 has 8 * 32 - 32; entries of 16 tokens 32 * 32 / 2 / 16; at most 4 of
// entries of 4 tokens (16 * 32 - 128) / 4.
TEST(CompressedAttention, AQuerySeesTheWindowAndEntries) {
  const Numerics numerics;
  const auto pairs = [&](LayerKind kind) {
    return attention_pairs(compressed(), kind, numerics, {1, 32, 32}, 1);
  };
  EXPECT_EQ(pairs(kWindow), 224);
  EXPECT_EQ(pairs(kBare), 224 + 32);
  EXPECT_EQ(pairs(kOwn), 224 + 96);
}

// DeepSeek-V4-Flash, 5,000 tokens, the class's own cache: 1,250 entries of 512 and of 128 numbers,
// 39 of 512, and a window of 512 numbers in each layer.
TEST(CompressedAttention, CacheIsTheClasses) {
  Model model = compressed();
  model.kv_channels = 512;
  model.compressed_attention->heavy_compress_rate = 128;
  model.compressed_attention->indexer_head_dim = 128;
  const auto of = [&](LayerKind kind) { return kv_layer_bytes(model, kind, KvCacheFormat::bf16); };
  EXPECT_EQ(of(kOwn).full * 5'000.0, bytes(1'250 * (512 + 128) * 2));
  EXPECT_EQ(of(kBare).full * 4'992.0, bytes(39 * 512 * 2));
  EXPECT_EQ(of(kWindow).full, bytes(0));
  EXPECT_EQ(of(kWindow).window, bytes(1'024));
}

// Two streams: 2 * 64 * 8 weights, 8 biases and 3 factors a block, 4 * 64 + 2 + 1 in front of the
// final norm.
TEST(HyperConnections, HaveWeightsInEachBlock) {
  const Model model = compressed();
  Model plain = model;
  plain.num_residual_streams = 1;
  EXPECT_EQ(layer_parameters(model, kOwn).total() - layer_parameters(plain, kOwn).total(),
            2 * (1'024 + 8 + 3));
  plain.vocab_size = 10;
  Model streams = plain;
  streams.num_residual_streams = 2;
  EXPECT_EQ(head_parameters(streams, 10) - head_parameters(plain, 10), 256 + 3);
}

// A checkpoint of a layer, and a message between stages, hold all streams.
TEST(HyperConnections, MultiplyWhatPassesBetweenLayers) {
  Job job;
  job.seq_length = 128;
  job.precision = Precision::bf16;
  Layout layout;
  layout.pipeline_parallel_size = 2;
  const double hidden = 128 * 64 * 2;
  EXPECT_EQ(layer_input_bytes(compressed(), job, micro_batch_tokens(job, {}), {}),
            bytes(2 * hidden));
  EXPECT_EQ(stage_send(compressed(), job, layout).payload, bytes(2 * hidden));
}

// 2 * 4 heads of 16 in blocks of 128, 2 index heads of 32 with norms of queries and of the key.
TEST(BlockSparseAttention, HasAnIndexerWithoutWeights) {
  Model model = indexed();
  model.mla.reset();
  model.block_sparse_attention =
      BlockSparseAttention{.indexer_n_heads = 2, .indexer_head_dim = 32, .topk_blocks = 1};
  EXPECT_EQ(layer_parameters(model, kOwn).total() - layer_parameters(model, kBare).total(),
            96 * 64 + 32 + 96 * 32 + 32);
  const Numerics numerics;
  EXPECT_EQ(attention_pairs(model, kOwn, numerics, {1, 256, 256}, 1), 128 * 256 - 128 * 128 / 2);
  EXPECT_EQ(attention_pairs(model, kBare, numerics, {1, 256, 256}, 1), 256 * 256 / 2);
}

// 192 channels with states of 16, a rank of 6, k 4, h 96: 96 * 384 + 5 * 192 + 192 * (16 + 1),
// 192 * 38, 6 * 192 + 192, 192 * 96. A state of 192 * 16 numbers in fp32.
TEST(SelectiveScan, ParametersAndStateFollowFromItsChannels) {
  Model model = indexed();
  model.mla.reset();
  model.hybrid_layer_pattern = "MMMM";
  model.selective_scan = SelectiveScan{.selective_channels = 192, .selective_dt_rank = 6};
  std::int64_t sum = 0;
  for (const LayerPart& part : recurrent_mixer(model)->parts()) {
    sum += part.weights() + part.cut_numbers + part.whole_numbers;
  }
  EXPECT_EQ(sum, 36'864 + 960 + 3'264 + 7'296 + 1'152 + 192 + 18'432);
  EXPECT_EQ(state_layer_bytes(model), bytes(192 * 16 * 4 + 4 * 192 * 2));
}

// One norm in front of both, a cache and a state.
TEST(AttentionBesideAStateSpace, HasThePartsOfBoth) {
  Model model = indexed();
  model.mla.reset();
  model.state_space = StateSpace{.mamba_num_heads = 4,
                                 .mamba_head_dim = 16,
                                 .mamba_num_groups = 1,
                                 .mamba_state_dim = 8,
                                 .mamba_norm = false};
  model.hybrid_layer_pattern = "bbbb";
  const LayerKind both = layer_kind(model, 0);
  const LayerKind scan{.linear_attention = true};
  EXPECT_TRUE(attends(both));
  EXPECT_EQ(layer_parameters(model, both).total(), layer_parameters(model, scan).total() +
                                                       layer_parameters(model, kOwn).total() -
                                                       3 * 96 * 112 - 2 * 96);
  const CachedLayers layers = cached_layers(model, 1);
  EXPECT_EQ(layers.full, 4);
  EXPECT_EQ(layers.linear, 4);
}

}  // namespace
}  // namespace meshwright
