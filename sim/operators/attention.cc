// SPDX-License-Identifier: Apache-2.0
// Attention of one layer on one tensor rank: projections, core attention fused or unfused, MLA.
#include "sim/block/attention.h"

#include <algorithm>
#include <cmath>

#include "sim/operators/builders.h"

namespace meshwright {
namespace {

struct HeadShape {
  std::int64_t heads = 0;      // heads on this rank
  std::int64_t groups = 0;     // key-value heads of this rank
  std::int64_t key_width = 0;  // width of one query or key head
  std::int64_t value_width = 0;
  std::int64_t key_value = 0;  // columns of one group's key and value
};

HeadShape head_shape(const Model& model, const Layout& layout) {
  HeadShape shape;
  shape.heads = local_heads(model, layout);
  if (model.mla) {
    shape.groups = shape.heads;
    shape.key_width = model.mla->qk_head_dim + model.mla->qk_pos_emb_head_dim;
    shape.value_width = model.mla->v_head_dim;
    shape.key_value = shape.key_width + shape.value_width;
    return shape;
  }
  shape.groups = local_query_groups(model, layout);
  shape.key_width = model.kv_channels;
  shape.value_width = model.kv_channels;
  shape.key_value = (model.compressed_attention ? 1 : 2) * shape.key_width;
  return shape;
}

// Elements of the new tokens' q, k and v of this rank.
double qkv_elements(const HeadShape& heads, const RankShape& shape) {
  const std::int64_t width = heads.heads * heads.key_width + heads.groups * heads.key_value;
  return static_cast<double>(shape.rows) * static_cast<double>(width);
}

// Elements that attention reads: q of new tokens, k and v of all tokens that this rank holds.
double attended_elements(const HeadShape& heads, const TokenShape& tokens) {
  const std::int64_t query = tokens.queries * heads.heads * heads.key_width;
  const std::int64_t key_value = tokens.keys * heads.groups * heads.key_value;
  return static_cast<double>(tokens.sequences) * static_cast<double>(query + key_value);
}

// Eager rotary attention copies q, k and v to lie head by head, and k and v twice more: joined, and
// laid side by side (Nanotron's models/llama.py).
void append_repacking(Operators& ops, const HeadShape& heads, const RankShape& shape) {
  const double key_value = static_cast<double>(shape.rows * heads.groups) *
                           static_cast<double>(heads.key_width + heads.value_width);
  ops.push_back(memory_operator("attention.repack", Module::attention_linear, kernel::kTranspose,
                                qkv_elements(heads, shape), 2, 2, shape));
  ops.push_back(memory_operator("attention.join", Module::attention_linear, kernel::kTranspose,
                                key_value, 2, 2, shape));
  ops.push_back(memory_operator("attention.interleave", Module::attention_linear,
                                kernel::kTranspose, key_value, 2, 2, shape));
}

void append_query_key_value(Operators& ops, const Model& model, const HeadShape& heads,
                            const RankShape& shape) {
  // Groups that ranks share are not repeated here: the columns are split evenly, and the products
  // gathered (Megatron-LM core/transformer/attention.py).
  append_linear(ops, linear_operator(query_key_value(model), shape.rows, shape), Feed::norm, shape);
  ops.back().saved = bytes(qkv_elements(heads, shape) * shape.attention);
  if (model.attention_output_gate) {
    ops.back().saved +=
        bytes(static_cast<double>(shape.rows * heads.heads * heads.key_width) * shape.width);
  }
}

// Down projections are whole on each tensor rank and work on its share of the sequence; under
// DTensor on all of it, which was gathered before them.
void append_latent_projections(Operators& ops, const Model& model, const HeadShape& heads,
                               const RankShape& shape) {
  const LatentAttention& mla = *model.mla;
  const std::int64_t own_rows = shape.sequence_rows + shape.gathered_rows;
  const auto kept = [&](std::int64_t rows, std::int64_t width) {
    return bytes(static_cast<double>(rows) * static_cast<double>(width) * shape.width);
  };
  const std::int64_t query_width = heads.heads * heads.key_width;
  if (mla.q_lora_rank > 0) {
    append_linear(ops, linear_operator(query_down(model), own_rows, shape), Feed::other, shape);
    ops.back().saved = kept(own_rows, mla.q_lora_rank);
    ops.push_back(norm_operator("attention.q_norm", Module::mla_up_projection, model, own_rows,
                                mla.q_lora_rank, shape));
    append_linear(ops, linear_operator(query_up(model), shape.rows, shape), Feed::norm, shape);
  } else {
    append_linear(ops, linear_operator(direct_query(model), shape.rows, shape), Feed::other, shape);
  }
  ops.back().saved = bytes(static_cast<double>(shape.rows * query_width) * shape.attention);
  const std::int64_t latent = mla.kv_lora_rank + mla.qk_pos_emb_head_dim;
  append_linear(ops, linear_operator(key_value_down(model), own_rows, shape), Feed::other, shape);
  ops.back().saved = kept(own_rows, latent);
  ops.push_back(norm_operator("attention.kv_norm", Module::mla_up_projection, model, own_rows,
                              mla.kv_lora_rank, shape));
  append_linear(ops, linear_operator(key_value_up(model), shape.rows, shape), Feed::norm, shape);
  // Keys are kept with their rotary part copied to each head.
  ops.back().saved = bytes(static_cast<double>(shape.rows * heads.heads) *
                           static_cast<double>(heads.key_width + mla.v_head_dim) * shape.attention);
}

// Query's latent, vector of key and value, and the compressor. Its pooling reads its columns and
// writes an entry of them. Backward reads them once more and writes their gradient.
void append_compressed_projections(Operators& ops, const Model& model, LayerKind kind,
                                   const HeadShape& heads, const RankShape& shape) {
  const std::int64_t own_rows = shape.sequence_rows + shape.gathered_rows;
  const auto linear = [&](const LayerPart& part, std::int64_t rows, Feed feed) {
    append_linear(ops, linear_operator(part, rows, shape), feed, shape);
    ops.back().saved = bytes(static_cast<double>(rows * ops.back().n) * shape.width);
  };
  const std::int64_t rank = model.compressed_attention->q_lora_rank;
  linear(query_down(model), own_rows, Feed::other);
  ops.push_back(
      norm_operator("attention.q_norm", Module::attention_linear, model, own_rows, rank, shape));
  linear(query_up(model), shape.rows, Feed::norm);
  linear(shared_key_value(model), own_rows, Feed::other);
  ops.push_back(norm_operator("attention.kv_norm", Module::attention_linear, model, own_rows,
                              heads.key_width, shape));
  LayerParts compressor;
  append_compressor(compressor, model, kind);
  if (compressor.empty()) return;
  linear(compressor.front(), own_rows, Feed::other);
  ops.push_back(memory_operator("attention.compress", Module::attention_linear, kernel::kActivation,
                                static_cast<double>(own_rows * compressor.front().outputs), 1, 2,
                                shape));
}

// Pairs of a query and a key times the columns that are multiplied for each. Kernels that read
// chosen positions multiply the latents of MLA, which are wider than a head. In short contexts
// heads attend to all positions, masked.
double pair_columns(const Model& model, LayerKind kind, const Numerics& numerics,
                    const TokenShape& tokens, const Layout& layout, const HeadShape& heads) {
  const int ranks = layout.context_parallel_size;
  const auto columns = static_cast<double>(heads.key_width + heads.value_width);
  const double seen = attention_pairs(model, kind, numerics, tokens, ranks);
  if (!model.mla || model.mla->dsa_indexer_n_heads == 0) return seen * columns;
  const LatentAttention& mla = *model.mla;
  const double latent = 2.0 * mla.kv_lora_rank + mla.qk_pos_emb_head_dim;
  return std::min(seen * latent, seen_pairs({}, numerics, tokens, ranks) * columns);
}

Operator fused_attention(const Model& model, LayerKind kind, const Numerics& numerics,
                         const TokenShape& tokens, const Layout& layout, const HeadShape& heads,
                         const RankShape& shape) {
  Operator op;
  op.name = "attention.core";
  op.kind = OperatorKind::attention;
  op.module = Module::core_attention;
  op.narrow = shape.attention < shape.width;
  op.batch = tokens.sequences * heads.heads;
  op.m = tokens.queries;
  op.n = all_keys(tokens, layout);
  op.k = (heads.key_width + heads.value_width) / 2;
  // Scores and context: 2 FLOPs a pair and unit of head width each; backward recomputes the
  // scores: 2.5x (flash-attention's own count).
  op.forward_flops = flops(2.0 * static_cast<double>(op.batch) *
                           pair_columns(model, kind, numerics, tokens, layout, heads));
  op.backward_flops = 2.5 * op.forward_flops;
  const double read = attended_elements(heads, tokens);
  const double out = static_cast<double>(shape.rows * heads.heads * heads.value_width);
  op.forward_bytes = bytes((read + out) * shape.width);
  op.backward_bytes = bytes(2.0 * (read + out) * shape.width);
  op.saved =
      bytes(4.0 * static_cast<double>(op.batch) * static_cast<double>(op.m));  // log-sum-exp, fp32
  return op;
}

// Attention in fp8 casts query, key and value to fp8 and its output back; backward casts the
// output's gradient, and the gradients of query, key and value back (Transformer Engine,
// DotProductAttention with fp8_dpa). Each cast reads one format and writes the other.
void append_attention_casts(Operators& ops, const HeadShape& heads, const RankShape& shape) {
  const double cast = shape.width + shape.attention;
  const double out = static_cast<double>(shape.rows * heads.heads * heads.value_width);
  Operator op = memory_operator("attention.quantize_core", Module::core_attention,
                                kernel::kQuantize, 0, 0, 0, shape);
  op.forward_bytes = bytes((qkv_elements(heads, shape) + out) * cast);
  op.backward_bytes = op.forward_bytes;
  op.launches = 2;
  ops.push_back(op);
}

Operator batched_product(std::string_view name, std::int64_t batch, std::int64_t m, std::int64_t n,
                         std::int64_t k, const RankShape& shape) {
  Operator op = gemm_operator(name, Module::core_attention, m, n, k, shape);
  const auto count = static_cast<double>(batch);
  op.batch = batch;
  op.has_weight = false;
  op.forward_flops *= count;
  op.backward_flops *= count;
  op.forward_bytes *= count;
  op.backward_bytes *= count;
  return op;
}

// Megatron-LM's fused softmax takes 16-bit scores in whole blocks of four (sequence, head) pairs
// (fused_softmax.py, is_kernel_available); under a causal mask it reads only the lower half but
// writes zeros above (scaled_upper_triang_masked_softmax.h). Otherwise PyTorch's kernels run: cast
// to fp32, scale, mask, softmax, cast back, each through memory. transformers' eager attention
// (modeling_llama.py, eager_attention_forward) scales and masks before the cast. Its backward needs
// the softmax in fp32, and the 16-bit copy unless dropout replaces that. Softmax with sinks stays
// in 16 bits (modeling_gpt_oss.py).
constexpr std::int64_t kSoftmaxBlock = 4;

void append_softmax(Operators& ops, std::int64_t batch, double scores, const Model& model,
                    const Numerics& numerics, const RankShape& shape) {
  const double w = shape.width;
  const auto step = [&](std::string_view name, double forward_bytes, double backward_bytes) {
    Operator op =
        memory_operator(name, Module::core_attention, kernel::kSoftmax, scores, 0, 0, shape);
    op.forward_bytes = bytes(scores * forward_bytes);
    op.backward_bytes = bytes(scores * backward_bytes);
    ops.push_back(op);
  };
  if (shape.transformers) {
    const bool casts = w < 4.0 && !model.attention_sinks;
    const double wide = casts ? 4.0 : w;
    step("attention.softmax_scale", 2 * w, 2 * w);
    step("attention.softmax_mask", 2 * w, 0);
    if (casts) step("attention.scores_to_fp32", w + 4, w + 4);
    step("attention.softmax", 2 * wide, 3 * wide);
    ops.back().saved = bytes(scores * wide);
    if (!casts) return;
    step("attention.probabilities", w + 4, w + 4);
    if (!numerics.dropout) ops.back().saved = bytes(scores * w);
    return;
  }
  if (w >= 4.0 || batch % kSoftmaxBlock == 0) {
    const double read = numerics.causal && w < 4.0 ? 0.5 : 1.0;
    step("attention.softmax", w * (read + 1), w * (2 * read + 1));
  } else {
    step("attention.softmax_to_fp32", w + 4, w + 4);
    step("attention.softmax_scale", 8, 8);
    step("attention.softmax_mask", 8, 8);
    step("attention.softmax", 8, 12);
    step("attention.softmax_from_fp32", w + 4, w + 4);
  }
  ops.back().saved = bytes(scores * w);
}

// transformers (repeat_kv) copies keys and values to every head that shares them, and keeps the
// copies alone.
void append_repeated_keys(Operators& ops, const HeadShape& heads, const RankShape& shape) {
  if (!shape.transformers || heads.groups == heads.heads) return;
  const auto width = static_cast<double>(shape.rows * (heads.key_width + heads.value_width));
  const double touches = 1.0 + static_cast<double>(heads.groups) / static_cast<double>(heads.heads);
  ops.push_back(memory_operator("attention.repeat_keys", Module::attention_linear,
                                kernel::kTranspose, width * static_cast<double>(heads.heads),
                                touches, touches, shape));
  ops.back().saved = bytes(width * static_cast<double>(heads.heads - heads.groups) * shape.width);
}

// All positions, and all entries where they are compressed: what is not seen is masked.
std::int64_t unfused_keys(const Model& model, LayerKind kind, std::int64_t positions) {
  if (!model.compressed_attention) return positions;
  const double rate = seen_entries(model, kind).rate;
  return positions +
         (rate > 0 ? static_cast<std::int64_t>(static_cast<double>(positions) / rate) : 0);
}

// Korthikanti 2022, figure 3: scores, softmax, dropout, context, each through memory; no causal
// saving.
void append_unfused_attention(Operators& ops, const Model& model, LayerKind kind,
                              const Numerics& numerics, const TokenShape& tokens,
                              const Layout& layout, const HeadShape& heads,
                              const RankShape& shape) {
  const std::int64_t batch = tokens.sequences * heads.heads;
  const std::int64_t queries = tokens.queries;
  const std::int64_t keys = unfused_keys(model, kind, all_keys(tokens, layout));
  const double scores =
      static_cast<double>(batch) * static_cast<double>(queries) * static_cast<double>(keys);
  const double out = static_cast<double>(shape.rows * heads.heads * heads.value_width);

  ops.push_back(memory_operator("attention.split_heads", Module::attention_linear,
                                kernel::kTranspose, qkv_elements(heads, shape), 2, 2, shape));
  append_repeated_keys(ops, heads, shape);
  ops.push_back(batched_product("attention.scores", batch, queries, keys, heads.key_width, shape));
  ops.back().transposed_second = true;
  append_softmax(ops, batch, scores, model, numerics, shape);
  if (numerics.dropout) {
    ops.push_back(memory_operator("attention.dropout", Module::core_attention, kernel::kAdd, scores,
                                  2.5, 2.5, shape));
    ops.back().saved = bytes(scores * (shape.width + shape.mask));
  }
  ops.push_back(
      batched_product("attention.context", batch, queries, heads.value_width, keys, shape));
  ops.push_back(memory_operator("attention.merge_heads", Module::attention_linear,
                                kernel::kTranspose, out, 2, 2, shape));
}

// Transformer Engine's rotary kernel knows no scale of its own: Megatron-LM then rotates by PyTorch
// operators (rope_utils.py, mscale). How often each number is read or written: forward the negated
// half and its joining 3, two products 4, their sum 3, the joining with the unrotated rest 2;
// backward two products 4, the halves' negation and joining 3, the rest's gradient, zero, 1, and
// two sums of gradients 6. Kernels: six each for queries and keys.
struct UnfusedRotary {
  double forward = 12, backward = 14;
  std::int64_t launches = 12;
};
constexpr UnfusedRotary kUnfusedRotary;
constexpr UnfusedRotary kFusedRotary{2, 2, 1};
// transformers (modeling_llama.py, apply_rotary_pos_emb) rotates whole heads: forward the negated
// half and its joining 3, two products 4, their sum 3; backward two products 4, the halves'
// negation 1, their gradients in zeros 4, three sums 5. Backward needs sines and cosines alone.
constexpr UnfusedRotary kTransformersRotary{10, 14, 10};

}  // namespace

double attention_pairs(const Model& model, LayerKind kind, const Numerics& numerics,
                       const TokenShape& tokens, int context_ranks) {
  const auto mine = static_cast<double>(tokens.queries);
  const double queries = mine * context_ranks;
  const double keys = static_cast<double>(tokens.keys) * context_ranks;
  if (kind.sliding_window && model.sliding_window_in_chunks && numerics.causal) {
    const auto chunk = static_cast<double>(model.sliding_window);
    const auto before = [&](double end) {  // pairs of all queries up to there
      const double whole = std::floor(end / chunk), rest = end - whole * chunk;
      return (whole * chunk * chunk + rest * rest) / 2.0;
    };
    return (before(keys) - before(keys - queries)) * mine / queries;
  }
  return seen_pairs(seen_entries(model, kind), numerics, tokens, context_ranks);
}

double seen_pairs(const SeenEntries& seen, const Numerics& numerics, const TokenShape& tokens,
                  int context_ranks) {
  const auto mine = static_cast<double>(tokens.queries);
  const double queries = mine * context_ranks;
  const double keys = static_cast<double>(tokens.keys) * context_ranks;
  // A query sees min(its position, window) keys; the first see less than the window: q*w - m^2/2
  // pairs a sequence, m the window less the keys before the first query.
  const auto within = [&](double window) {
    if (window == 0 || window >= keys) {
      return numerics.causal ? mine * (keys - queries / 2.0) : mine * keys;
    }
    const double missing = std::max(0.0, window - (keys - queries));
    return (queries * window - missing * missing / 2.0) * mine / queries;
  };
  const double near = seen.window > 0 ? within(seen.window) : 0.0;
  return near + (seen.rate > 0 ? within(seen.most * seen.rate) / seen.rate : 0.0);
}

void append_attention(Operators& ops, const Model& model, LayerKind kind, const Numerics& numerics,
                      const TokenShape& tokens, const Layout& layout) {
  const RankShape shape = rank_shape(numerics, tokens, layout);
  const HeadShape heads = head_shape(model, layout);
  if (model.compressed_attention) {
    append_compressed_projections(ops, model, kind, heads, shape);
  } else if (model.mla) {
    append_latent_projections(ops, model, heads, shape);
  } else {
    append_query_key_value(ops, model, heads, shape);
  }
  append_indexer(ops, model, kind, numerics, tokens, layout, shape);
  const double query_key =
      static_cast<double>(shape.rows * (heads.heads + heads.groups) * heads.key_width);
  if (model.qk_layernorm) {
    ops.push_back(norm_operator("attention.qk_norm", Module::norm, model, shape.rows,
                                (heads.heads + heads.groups) * heads.key_width, shape));
    // The rotation behind it keeps no input.
    if (casts_in_norm(model, shape)) ops.back().saved = bytes(query_key * (4.0 + shape.width));
  }
  if (model.position_embedding == PositionEmbedding::rope) {
    if (numerics.kernel_fusion == KernelFusion::eager) append_repacking(ops, heads, shape);
    // Latent attention's up projections and their rotation are run again together.
    const bool unfused =
        model.rotary_mscale != 1.0 && numerics.kernel_fusion == KernelFusion::fused;
    const UnfusedRotary rotary = shape.transformers ? kTransformersRotary
                                 : unfused          ? kUnfusedRotary
                                                    : kFusedRotary;
    ops.push_back(memory_operator(
        "attention.rotary", model.mla ? Module::mla_up_projection : Module::attention_linear,
        kernel::kRotary, query_key, rotary.forward, rotary.backward, shape));
    ops.back().launches = rotary.launches;
  }
  if (numerics.attention_kernel == AttentionKernel::flash) {
    if (shape.attention < shape.width) append_attention_casts(ops, heads, shape);
    ops.push_back(fused_attention(model, kind, numerics, tokens, layout, heads, shape));
  } else {
    append_unfused_attention(ops, model, kind, numerics, tokens, layout, heads, shape);
  }
  const std::int64_t width = heads.heads * heads.value_width;
  if (model.attention_output_gate) {
    const auto gated = static_cast<double>(shape.rows * width);
    ops.push_back(memory_operator("attention.output_gate", Module::attention_linear,
                                  kernel::kActivation, gated, 3, 5, shape));
    ops.back().saved = bytes(gated * shape.width);
  }
  if (model.compressed_attention) {
    append_linear(ops, linear_operator(grouped_output(model), shape.rows, shape), Feed::other,
                  shape);
    ops.back().saved = bytes(static_cast<double>(shape.rows * ops.back().n) * shape.operand);
  }
  append_linear(ops, linear_operator(attention_projection(model), shape.rows, shape), Feed::other,
                shape);
  // Transformer Engine's all-to-all attention keeps the output twice: by heads for its own
  // backward, by sequence as the projection's input (context_parallel.py,
  // AttnFuncWithCPAndQKVOA2A).
  const bool by_heads = layout.cp_comm_type == ContextParallelAlgorithm::a2a ||
                        layout.cp_comm_type == ContextParallelAlgorithm::a2a_p2p;
  const double twice = by_heads && layout.context_parallel_size > 1 ? shape.width : 0.0;
  // Attention's own backward needs the output as attention computes it; fp8 adds the projection's
  // operand.
  const double kept = shape.operand < shape.width ? shape.attention + shape.operand : shape.width;
  ops.back().saved = bytes(static_cast<double>(shape.rows * width) * (kept + twice));
}

}  // namespace meshwright
