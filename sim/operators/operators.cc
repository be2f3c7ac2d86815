// SPDX-License-Identifier: Apache-2.0
#include "sim/operators/operators.h"

#include <algorithm>

#include "sim/base/narrow_format.h"
#include "sim/block/layer.h"
#include "sim/block/parameters.h"
#include "sim/operators/builders.h"

namespace meshwright {
namespace {

Flops product_flops(double batch, double m, double n, double k) {
  return flops(2.0 * batch * m * n * k);
}

// transformers' RMSNorm (modeling_llama.py, LlamaRMSNorm) is six kernels: the cast to fp32, its
// square, their mean, the product with the root's inverse, the cast back, the product with the
// weight. Autograd keeps the fp32 copy of the input, the normalised number in the model's format
// and, for the linear behind, the output. A number: forward 6 + 8 + 4 + 8 + 6 + 4 bytes in 16 bits;
// backward the weight's product 10, the cast 6, the product with the inverse 20, the mean and the
// square 16, the sum of both gradients 12, the cast 6.
void cast_in_norm(Operator& op, double elements, const RankShape& shape) {
  const double w = shape.width;
  op.launches = 6;
  op.forward_bytes = bytes(elements * (24.0 + 6.0 * w));
  op.backward_bytes = bytes(elements * (52.0 + 9.0 * w));
  op.saved = bytes(elements * (4.0 + 2.0 * w));
}

// DTensor keeps a column-parallel linear's input as it was gathered, not a rank's piece of it.
void keep_gathered(Operator& norm, const Model& model, const RankShape& shape) {
  norm.saved += bytes(static_cast<double>(shape.gathered_rows) * model.hidden_size * shape.width);
}

}  // namespace

bool casts_in_norm(const Model& model, const RankShape& shape) {
  return shape.transformers && model.normalization == Normalization::rms_norm;
}

RankShape rank_shape(const Numerics& numerics, const TokenShape& tokens, const Layout& layout) {
  RankShape shape;
  shape.rows = meshwright::tokens(tokens);
  shape.tensor_size = layout.tensor_parallel_size;
  shape.sequence_rows = layout.sequence_parallel ? shape.rows / shape.tensor_size : shape.rows;
  shape.gathered_rows = uses_dtensor(layout) ? shape.rows - shape.sequence_rows : 0;
  shape.width = activation_bytes(numerics.precision);
  shape.operand = operand_bytes(numerics);
  if (is_narrow(numerics.precision)) {
    const NarrowFormat& format = narrow_format(numerics);
    const double written = operand_copies(numerics) * shape.operand;
    shape.scaled_blocks =
        numerics.precision == Precision::fp4 || numerics.fp8_recipe == Fp8Recipe::mxfp8;
    shape.cast = format.reads * shape.width + written;
    const bool transposes = weight_copies(numerics) < operand_copies(numerics);
    if (transposes) shape.transposed = 2.0 * shape.operand;
    if (!format.norm_casts) shape.cast_after_norm = format.reads_after_norm * shape.width + written;
  }
  shape.attention = attention_bytes(numerics);
  shape.activation_input = numerics.activation_func_fp8_input_store ? 1.0 : shape.width;
  shape.eager = is_eager(numerics.kernel_fusion);
  shape.transformers = numerics.kernel_fusion == KernelFusion::transformers;
  shape.mask = numerics.dropout ? 1.0 : 0.0;
  return shape;
}

std::int64_t local_heads(const Model& model, const Layout& layout) {
  return model.num_attention_heads / layout.tensor_parallel_size;
}

std::int64_t local_query_groups(const Model& model, const Layout& layout) {
  return std::max(1, model.num_query_groups / layout.tensor_parallel_size);
}

Operator gemm_operator(std::string_view name, Module module, std::int64_t m, std::int64_t n,
                       std::int64_t k, const RankShape& shape) {
  Operator op;
  op.name = name;
  op.kind = OperatorKind::gemm;
  op.module = module;
  op.m = m;
  op.n = n;
  op.k = k;
  op.has_weight = true;
  const auto dm = static_cast<double>(m);
  const auto dn = static_cast<double>(n);
  const auto dk = static_cast<double>(k);
  op.forward_flops = product_flops(1, dm, dn, dk);
  op.backward_flops = 2.0 * op.forward_flops;
  op.forward_bytes = bytes(shape.width * (dm * dk + dk * dn + dm * dn));
  op.backward_bytes = 2.0 * op.forward_bytes;
  return op;
}

Operator memory_operator(std::string_view name, Module module, std::string_view kernel,
                         double elements, double forward_touches, double backward_touches,
                         const RankShape& shape) {
  Operator op;
  op.name = name;
  op.kind = OperatorKind::memory_bound;
  op.module = module;
  op.kernel = kernel;
  op.forward_bytes = bytes(elements * forward_touches * shape.width);
  op.backward_bytes = bytes(elements * backward_touches * shape.width);
  return op;
}

Operator linear_operator(const LayerPart& part, std::int64_t rows, std::int64_t ranks,
                         const RankShape& shape) {
  const std::int64_t n = part.split == Split::columns ? part.outputs / ranks : part.outputs;
  const std::int64_t k = part.split == Split::rows ? part.inputs / ranks : part.inputs;
  Operator op = gemm_operator(part.names->product, part.module, rows, n, k, shape);
  op.linear = part.names;
  op.quantized = part.quantized;
  op.split = part.split;
  return op;
}

void append_linear(Operators& ops, const Operator& linear, Feed feed, const RankShape& shape) {
  if (shape.operand < shape.width) {
    Operator op =
        memory_operator(linear.linear->quantize, linear.module, kernel::kQuantize, 0, 0, 0, shape);
    const auto rows = static_cast<double>(linear.batch * linear.m);
    const double forward = feed == Feed::norm ? shape.cast_after_norm : shape.cast;
    op.forward_bytes = bytes(rows * static_cast<double>(linear.k) * forward);
    const auto weights = static_cast<double>(linear.batch * linear.k * linear.n);
    op.backward_bytes =
        bytes(rows * static_cast<double>(linear.n) * shape.cast + weights * shape.transposed);
    ops.push_back(op);
  }
  ops.push_back(linear);
}

Operator norm_operator(std::string_view name, Module module, const Model& model, std::int64_t rows,
                       std::int64_t width, const RankShape& shape) {
  const double elements = static_cast<double>(rows) * static_cast<double>(width);
  const std::string_view kernel =
      model.normalization == Normalization::rms_norm ? kernel::kRmsNorm : kernel::kLayerNorm;
  // Forward reads x and writes y; backward reads dy and x and writes dx.
  Operator op = memory_operator(name, module, kernel, elements, 2, 3, shape);
  op.saved = bytes(elements * shape.width);
  if (casts_in_norm(model, shape)) cast_in_norm(op, elements, shape);
  return op;
}

Operator residual_operator(std::string_view name, const Model& model, const RankShape& shape) {
  const double elements = static_cast<double>(shape.sequence_rows) * model.hidden_size;
  const double streams = model.num_residual_streams;
  if (streams > 1) {
    // The output enters every stream, and the streams mix; backward reads them once more. Kept are
    // the streams, and the block's output for the gradient of its weights.
    Operator op = memory_operator(name, Module::norm, kernel::kAdd, elements, 2.0 * streams + 1.0,
                                  3.0 * streams + 2.0, shape);
    op.saved = bytes(elements * (streams + 1.0) * shape.width);
    return op;
  }
  // Forward reads two and writes one; backward adds the branch's gradient to the stream's.
  Operator op = memory_operator(name, Module::residual, kernel::kAdd, elements, 3, 3, shape);
  // Where norms cast, no operator keeps the sum itself: the next norm counts its fp32 copy.
  const double sum = casts_in_norm(model, shape) ? 0.0 : shape.width;
  op.saved = bytes(elements * (sum + shape.mask));
  return op;
}

namespace {

void append_mlp_block(Operators& ops, const Model& model, LayerKind kind, const Numerics& numerics,
                      const Layout& layout, const RankShape& shape) {
  append_stream_input(ops, false, model, shape);
  const bool normalized = model.normalization != Normalization::none;
  const bool own_norm =
      normalized && !(model.parallel_attention_mlp && model.parallel_shared_layer_norm);
  if (own_norm) {
    ops.push_back(norm_operator("mlp_norm",
                                kind.mixture_of_experts ? Module::layer_norm : Module::mlp, model,
                                shape.sequence_rows, model.hidden_size, shape));
    if (uses_dtensor(layout)) {
      // Experts on ranks of their own take a rank's tokens; a shared expert gathers.
      const bool gathers = !kind.mixture_of_experts || layout.expert_parallel_size == 1 ||
                           model.moe->moe_shared_expert_intermediate_size > 0;
      if (gathers) keep_gathered(ops.back(), model, shape);
    } else if (shape.eager) {
      ops.back().saved *=
          static_cast<double>(shape.rows) / static_cast<double>(shape.sequence_rows);
    }
    if (!kind.mixture_of_experts) ops.back().saved *= shape.operand / shape.width;
  }
  if (kind.mixture_of_experts) {
    append_experts(ops, model, layout, shape);
    const double fullest = load_imbalance(*model.moe, numerics);
    for (Operator& op : ops) {
      if (op.of_expert) op.saved *= fullest;
    }
  } else {
    append_dense_mlp(ops, model, shape);
  }
  if (model.post_layer_norms) {
    ops.push_back(norm_operator("post_mlp_norm", Module::norm, model, shape.sequence_rows,
                                model.hidden_size, shape));
  }
  if (model.num_attention_heads > 0) {
    ops.push_back(residual_operator("mlp.residual", model, shape));
  }
}

}  // namespace

std::vector<Operator> layer_operators(const Model& model, LayerKind kind, const Numerics& numerics,
                                      const TokenShape& tokens, const Layout& layout) {
  const RankShape shape = rank_shape(numerics, tokens, layout);
  const bool normalized = model.normalization != Normalization::none;
  const bool with_heads = model.num_attention_heads > 0;  // a plain perceptron has no residual
  Operators ops;
  ops.reserve(32);
  if (with_heads && kind.mixer) {
    append_stream_input(ops, true, model, shape);
    if (normalized) {
      ops.push_back(norm_operator("input_norm",
                                  model.mla ? Module::layer_norm : Module::attention_linear, model,
                                  shape.sequence_rows, model.hidden_size, shape));
      keep_gathered(ops.back(), model, shape);
      ops.back().saved *= shape.operand / shape.width;
    }
    if (kind.linear_attention) append_recurrent(ops, model, tokens, layout, shape);
    if (attends(kind)) append_attention(ops, model, kind, numerics, tokens, layout);
    if (model.post_layer_norms) {
      ops.push_back(norm_operator("post_attention_norm", Module::norm, model, shape.sequence_rows,
                                  model.hidden_size, shape));
    }
    if (!model.parallel_attention_mlp) {
      ops.push_back(residual_operator("attention.residual", model, shape));
    }
  }
  if (kind.mlp) append_mlp_block(ops, model, kind, numerics, layout, shape);
  if (freezes_weights(numerics)) add_adapters(ops, model, numerics, shape);
  if (recomputes_module(layout, kRecomputeOp)) mark_op_recompute(ops, model, layout, shape);
  return ops;
}

std::vector<Operator> embedding_operators(const Model& model, const Numerics& numerics,
                                          const TokenShape& tokens, const Layout& layout) {
  if (model.vocab_size == 0) return {};
  const RankShape shape = rank_shape(numerics, tokens, layout);
  const double elements = static_cast<double>(shape.rows) * model.hidden_size;
  // Forward reads a row and writes it; backward reads the gradient and reads and writes the row's.
  Operators ops{memory_operator("embedding.tokens", Module::embedding, kernel::kEmbedding, elements,
                                2, 3, shape)};
  const double kept = static_cast<double>(shape.sequence_rows) * model.hidden_size;
  // The dropout mask and the token ids (int64); the output is the first layer's input.
  ops.back().saved = bytes(kept * shape.mask + 8.0 * static_cast<double>(shape.rows));
  if (model.position_embedding == PositionEmbedding::learned) {
    ops.push_back(
        memory_operator("embedding.positions", Module::embedding, kernel::kAdd, kept, 3, 1, shape));
  }
  if (model.embedding_layer_norm) {
    ops.push_back(norm_operator("embedding.norm", Module::norm, model, shape.sequence_rows,
                                model.hidden_size, shape));
  }
  return ops;
}

std::vector<Operator> head_operators(const Model& model, const Numerics& numerics,
                                     const TokenShape& tokens, const Layout& layout) {
  if (model.vocab_size == 0) return {};
  const RankShape shape = rank_shape(numerics, tokens, layout);
  Operators ops;
  if (model.num_residual_streams > 1) {
    const double streams = model.num_residual_streams;
    const double elements = static_cast<double>(shape.sequence_rows) * model.hidden_size;
    ops.push_back(memory_operator("final_streams", Module::norm, kernel::kAdd, elements,
                                  2.0 * streams + 1.0, 3.0 * streams + 1.0, shape));
    ops.back().saved = bytes(elements * shape.width);
  }
  if (model.normalization != Normalization::none) {
    ops.push_back(norm_operator("final_norm", Module::norm, model, shape.sequence_rows,
                                model.hidden_size, shape));
    // And its input, the last layer's output, unless the norm counted a copy of it.
    if (!casts_in_norm(model, shape)) ops.back().saved *= 2.0;
    keep_gathered(ops.back(), model, shape);
  }
  const std::int64_t vocab =
      padded_vocab_size(model, numerics.make_vocab_size_divisible_by, layout.tensor_parallel_size) /
      layout.tensor_parallel_size;
  ops.push_back(gemm_operator("logits", Module::head, shape.rows, vocab, model.hidden_size, shape));
  // Cross-entropy works in fp32 (Megatron vocab_parallel_cross_entropy): the cast reads w and
  // writes 4 bytes, the maximum reads 4, the exponential reads and writes 4 + 4; backward reads and
  // writes 4 + 4 and casts back. The fp32 probabilities are kept.
  const double entries = static_cast<double>(shape.rows) * static_cast<double>(vocab);
  const double cast = shape.width < 4.0 ? shape.width + 4.0 : 0.0;
  Operator loss;
  loss.name = "cross_entropy";
  loss.module = Module::head;
  loss.kernel = kernel::kCrossEntropy;
  loss.forward_bytes = bytes(entries * (cast + 12.0));
  loss.backward_bytes = bytes(entries * (cast + 8.0));
  loss.saved = bytes(entries * 4.0);
  if (numerics.cross_entropy_loss_fusion) {
    // Reads the logits and writes their gradient in their own format; backward scales it.
    loss.forward_bytes = bytes(entries * 2.0 * shape.width);
    loss.backward_bytes = loss.forward_bytes;
    loss.saved = bytes(entries * shape.width);
  }
  if (numerics.kernel_fusion == KernelFusion::eager) {
    // One kernel each: cast, maximum, difference, exponential, sum, quotient; backward scales and
    // casts (Nanotron's tensor_parallel/functional.py).
    loss.forward_bytes = bytes(entries * (cast + 32.0));
    loss.backward_bytes = bytes(entries * (cast + 8.0));
    loss.saved = bytes(entries * 4.0);
  }
  const bool of_torch = numerics.kernel_fusion == KernelFusion::compiled || shape.transformers;
  if (of_torch && !numerics.cross_entropy_loss_fusion) {
    // torch's: cast, log-softmax (reads twice, writes), pick; backward fills the picked entries'
    // gradient, takes it and the log-softmax to the logits' gradient, casts.
    loss.forward_bytes = bytes(entries * (cast + 12.0));
    loss.backward_bytes = bytes(entries * (cast + 16.0));
  }
  ops.push_back(loss);
  if (freezes_weights(numerics)) freeze_weights(ops, shape);
  return ops;
}

std::vector<Operator> mtp_operators(const Model& model, const Numerics& numerics,
                                    const TokenShape& tokens, const Layout& layout) {
  const RankShape shape = rank_shape(numerics, tokens, layout);
  Operators ops{norm_operator("mtp.embedding_norm", Module::norm, model, shape.sequence_rows,
                              model.hidden_size, shape),
                norm_operator("mtp.hidden_norm", Module::norm, model, shape.sequence_rows,
                              model.hidden_size, shape),
                linear_operator(mtp_projection(model), shape.rows, shape)};
  ops.front().saved *= 2.0;  // and its input, the next tokens' embedding
  if (freezes_weights(numerics)) freeze_weights(ops, shape);
  return ops;
}

double load_imbalance(const MixtureOfExperts& moe, const Numerics& numerics) {
  return moe.moe_expert_capacity_factor > 0 ? 1.0 : numerics.moe_load_imbalance;
}

Precision compute_precision(const Operator& op, Precision precision) {
  if (!is_narrow(precision)) return precision;
  return is_layer_linear(op) ? precision : Precision::bf16;
}

unsigned offload_module(const Operator& op, const Model& model, LayerKind kind) {
  constexpr unsigned kNone = 0;
  if (op.name == "mlp.residual") return model.mla ? unsigned{kOffloadAttentionNorm} : kNone;
  if (op.name == "input_norm") return kOffloadQkvLinear;
  if (op.name == "attention.projection") return kOffloadAttentionProjection;
  if (op.name == "attention.residual") {
    return kind.mixture_of_experts ? unsigned{kOffloadMlpNorm} : kNone;
  }
  if (op.name == "experts.permute") return kOffloadExpertFc1;
  if (op.name == "experts.fc1") return kOffloadMoeActivation;
  const bool feeds_attention = op.name == "attention.qkv" || op.name == "attention.q" ||
                               op.module == Module::mla_up_projection;
  return feeds_attention && op.kind == OperatorKind::gemm ? unsigned{kOffloadCoreAttention} : kNone;
}

bool recomputes_module(const Layout& layout, Module module) {
  const auto asked = [&](unsigned modules) { return recomputes_module(layout, modules); };
  switch (module) {
    case Module::core_attention:
      return asked(kRecomputeCoreAttention);
    case Module::layer_norm:
      return asked(kRecomputeLayerNorm);
    case Module::mla_up_projection:
      return asked(kRecomputeMlaUpProjection);
    case Module::mlp:
      return asked(kRecomputeMlp);
    case Module::expert_activation:
      return asked(kRecomputeMoe | kRecomputeMoeActivation);
    case Module::shared_expert:
      return asked(kRecomputeMoe | kRecomputeSharedExperts);
    case Module::router:
    case Module::experts:
      return asked(kRecomputeMoe);
    default:
      return false;
  }
}

double recomputed_share(const Operator& op, const Layout& layout, bool layer_fully_recomputed) {
  if (layer_fully_recomputed) return 1.0;
  if (recomputes_module(layout, kRecomputeOp)) return op.again_by_op;
  return recomputes_module(layout, op.module) ? 1.0 : 0.0;
}

Bytes kept_bytes(const Operator& op, const Layout& layout) {
  if (recomputes_module(layout, kRecomputeOp)) return op.saved_by_op;
  return recomputes_module(layout, op.module) ? Bytes{} : op.saved;
}

bool mtp_is_recomputed(const Layout& layout) {
  return layout.recompute_granularity == RecomputeGranularity::full &&
         layout.recompute_method == RecomputeMethod::uniform;
}

int fully_recomputed_layers(const Layout& layout, int stage_layers) {
  if (layout.recompute_granularity != RecomputeGranularity::full) return 0;
  if (layout.recompute_num_layers == 0 || layout.recompute_method == RecomputeMethod::uniform) {
    return stage_layers;
  }
  return std::min(layout.recompute_num_layers, stage_layers);
}

}  // namespace meshwright
