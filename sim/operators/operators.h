// SPDX-License-Identifier: Apache-2.0
// A transformer as the operators that one rank runs for one pass of its tokens, with their shapes,
// FLOPs, memory traffic and the activation bytes that they keep for backward.
//
// A GEMM is batch x (m x k)(k x n): 2*batch*m*n*k FLOPs forward; backward runs two more, for the
// input (m x n)(n x k) and for the weight (k x m)(m x n). Layer formulas: Megatron-LM's modules;
// activation bytes: Korthikanti 2022 (arXiv 2205.05198), section 4, operator by operator.
#pragma once

#include <string_view>
#include <vector>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/block/part.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/layout/token_shape.h"
#include "sim/model/model.h"

namespace meshwright {

enum class OperatorKind { gemm, attention, memory_bound };

// Kernel names of memory-bound operators: the keys of Device::kernels.
namespace kernel {
inline constexpr std::string_view kLayerNorm = "layer_norm";
inline constexpr std::string_view kRmsNorm = "rms_norm";
inline constexpr std::string_view kActivation = "activation";  // gelu, relu, swiglu, geglu
inline constexpr std::string_view kSoftmax = "softmax";
inline constexpr std::string_view kAdd = "add";  // residual, bias
inline constexpr std::string_view kRotary = "rotary";
inline constexpr std::string_view kEmbedding = "embedding";
inline constexpr std::string_view kCrossEntropy = "cross_entropy";
inline constexpr std::string_view kAdam = "adam";
inline constexpr std::string_view kQuantize = "quantize";  // to fp8, by rows and by columns
// Scans over chunks of a sequence.
inline constexpr std::string_view kDeltaRule = "delta_rule";
inline constexpr std::string_view kStateSpace = "state_space";
inline constexpr std::string_view kKimiDelta = "kimi_delta";
inline constexpr std::string_view kLightning = "lightning_attention";
inline constexpr std::string_view kSelectiveScan = "selective_scan";
inline constexpr std::string_view kTranspose =
    "transpose";  // heads to and from batch, token permutation
}  // namespace kernel

struct Operator {
  std::string_view name;  // "attention.qkv"; unique in a layer
  OperatorKind kind = OperatorKind::memory_bound;
  Module module = Module::mlp;
  const LinearNames* linear = nullptr;  // names of a weight's product
  QuantizedPart quantized = kNotQuantized;
  Split split = Split::whole;  // its weight between tensor ranks

  // gemm: one product a batch entry. attention: batch = micro_batch x heads of this rank, m = query
  // positions, n = key positions, k = head width (qk + v)/2.
  std::int64_t batch = 1, m = 0, n = 0, k = 0;
  bool has_weight = false;  // gemm against a parameter: backward has a separate weight gradient
  bool frozen = false;      // its weight is not trained: backward has no weight gradient
  bool adapter = false;     // LoRA's, beside a frozen linear; always in 16 bits
  bool transposed_second = false;  // q k^T: the gradient of k is dS^T q, n x k over m
  bool narrow = false;             // attention: multiplies fp8 numbers
  bool of_expert = false;  // works on tokens of experts; its parameter is theirs, a product each
  // Kernels that the host launches forward; backward as many, a GEMM twice.
  std::int64_t launches = 1;

  std::string_view kernel;  // memory_bound: the key into Device::kernels

  Flops forward_flops;
  Flops backward_flops;
  Bytes forward_bytes;   // read + written, forward
  Bytes backward_bytes;  // read + written, backward; a GEMM's two products together
  // Kept from forward to backward, counted where it is produced, so that running the operator again
  // frees it. Exceptions: the attention output counts with the projection, which keeps it as its
  // input; a layer's input, as large as its output, counts with the residual that ends it; the
  // head's norm counts its input too.
  Bytes saved;
  // Under op-level recompute (recompute_modules op): what waits for backward instead of `saved`,
  // and the share of the forward that runs again.
  Bytes saved_by_op;
  double again_by_op = 1.0;

  bool operator==(const Operator&) const = default;
};

// One layer on one rank, forward order.
std::vector<Operator> layer_operators(const Model& model, LayerKind kind, const Numerics& numerics,
                                      const TokenShape& tokens, const Layout& layout);
// Token (and position) embedding on the first stage.
std::vector<Operator> embedding_operators(const Model& model, const Numerics& numerics,
                                          const TokenShape& tokens, const Layout& layout);
// Final norm, logits, cross-entropy on the last stage.
std::vector<Operator> head_operators(const Model& model, const Numerics& numerics,
                                     const TokenShape& tokens, const Layout& layout);
// Operators that a multi-token-prediction layer adds to its transformer layer (two norms, the 2h ->
// h projection); its logits are head_operators once more.
std::vector<Operator> mtp_operators(const Model& model, const Numerics& numerics,
                                    const TokenShape& tokens, const Layout& layout);

// The same of a micro-batch of training.
inline std::vector<Operator> layer_operators(const Model& model, LayerKind kind,
                                             const TrainingJob& job, const Layout& layout) {
  return layer_operators(model, kind, job, micro_batch_tokens(job, layout), layout);
}
inline std::vector<Operator> embedding_operators(const Model& model, const TrainingJob& job,
                                                 const Layout& layout) {
  return embedding_operators(model, job, micro_batch_tokens(job, layout), layout);
}
inline std::vector<Operator> head_operators(const Model& model, const TrainingJob& job,
                                            const Layout& layout) {
  return head_operators(model, job, micro_batch_tokens(job, layout), layout);
}
inline std::vector<Operator> mtp_operators(const Model& model, const TrainingJob& job,
                                           const Layout& layout) {
  return mtp_operators(model, job, micro_batch_tokens(job, layout), layout);
}

// Tokens of the rank whose experts get most of them over the mean, which all wait for and which
// needs the most memory. With a capacity factor every expert's buffer is filled up to it, and what
// is more is dropped.
double load_imbalance(const MixtureOfExperts& moe, const Numerics& numerics);

// The number format that an operator computes in. Transformer Engine's fp8 recipes work on its own
// linears: attention (fp8_dpa is off), Megatron-LM's router and output linear stay in bf16.
Precision compute_precision(const Operator& op, Precision precision);

// A linear of a layer, which recipes of fp8 and quantized weights are about: neither router nor
// head, and no adapter.
constexpr bool is_layer_linear(const Operator& op) {
  return op.kind == OperatorKind::gemm && op.has_weight && !op.adapter &&
         op.module != Module::router && op.module != Module::head;
}
constexpr bool is_scan(std::string_view kernel) {
  return kernel == kernel::kDeltaRule || kernel == kernel::kStateSpace ||
         kernel == kernel::kKimiDelta || kernel == kernel::kLightning ||
         kernel == kernel::kSelectiveScan;
}
// Tells whether backward has a product for the weight's gradient.
constexpr bool trains_weight(const Operator& op) { return op.has_weight && !op.frozen; }

// Tells whether every row of the matrices of a 16-bit product, and of their transposes, is whole 16
// bytes, as tensor cores load them: each size a multiple of 8 (NVIDIA Matrix Multiplication
// Background, section 2.1). Attention's scores have the head's width among their sizes.
constexpr bool rows_are_aligned(const Operator& op) {
  constexpr std::int64_t kNumbers = 8;
  return op.m % kNumbers == 0 && op.n % kNumbers == 0 && op.k % kNumbers == 0;
}

// The module of offload_modules whose input an operator's saved bytes are (0: none): those of its
// linear or activation; the core attention's queries, keys and values; what a norm of its own
// takes.
unsigned offload_module(const Operator& op, const Model& model, LayerKind kind);

// Tells whether selective recompute runs a module again.
bool recomputes_module(const Layout& layout, Module module);
// Share of this operator's forward that full or selective recompute runs again in backward: 0 or 1,
// and between them where op-level recompute keeps some of a joint GEMM's products.
double recomputed_share(const Operator& op, const Layout& layout, bool layer_fully_recomputed);
// Returns the part of `saved` that waits for backward in a layer that is not fully recomputed.
Bytes kept_bytes(const Operator& op, const Layout& layout);
// Multi-token prediction is run again whole, but for its look-ups, under full recompute by the
// uniform method; the block method leaves it out (Megatron-LM multi_token_prediction.py,
// _checkpointed_forward).
bool mtp_is_recomputed(const Layout& layout);
// Number of a stage's layers that are recomputed whole.
int fully_recomputed_layers(const Layout& layout, int stage_layers);

// FLOPs of a recurrent mixer's scan for one token of all heads of a layer.
double scan_flops(const Model& model);
// FLOPs that the model needs for one step of the whole batch, forward and backward, no recompute
// (Megatron-LM num_floating_point_operations): causal attention counted half, or in full
// (PaLM, Narayanan 2021).
Flops model_flops(const Model& model, const Job& job, bool causal_half);

}  // namespace meshwright
