// SPDX-License-Identifier: Apache-2.0
// A layer as a list of parts. A part says once what a weight is: its shape, how tensor ranks share
// it, what quantizes it, and what the tensor group exchanges around its product. Parameters,
// checkpoint bytes, products, FLOPs and transfers are all read from parts.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/block/transfer_names.h"
#include "sim/model/model.h"

namespace meshwright {

// The part of a layer that an operator belongs to; selective recompute works on these. A norm that
// Transformer Engine does in one module with the linear after it belongs to that linear; layer_norm
// are those that Megatron-LM's layer holds itself: before latent attention and before experts
// (gpt_layer_specs.py), norm those that no recompute module names.
enum class Module {
  embedding,
  norm,
  layer_norm,
  attention_linear,
  core_attention,
  mla_up_projection,
  mlp,
  router,  // and the copies of tokens to and from experts
  experts,
  expert_activation,
  shared_expert,
  residual,
  head
};
constexpr bool of_experts(Module module) {
  return module == Module::router || module == Module::experts ||
         module == Module::expert_activation || module == Module::shared_expert;
}

// Linears of a layer that a checkpoint quantizes together. Router, norms and embedding stay in 16
// bits in every published checkpoint.
enum QuantizedPart : unsigned {
  kNotQuantized = 0,
  kQuantizedAttentionInput = 1U << 0U,   // query, key, value; MLA's down and up projections
  kQuantizedAttentionOutput = 1U << 1U,  // the projection behind attention
  kQuantizedDenseMlp = 1U << 2U,
  kQuantizedSharedExperts = 1U << 3U,
  kQuantizedExperts = 1U << 4U,
  kQuantizedHead = 1U << 5U
};
inline constexpr std::array kQuantizedPartNames{
    EnumName{kQuantizedAttentionInput, "attention_input"},
    EnumName{kQuantizedAttentionOutput, "attention_output"},
    EnumName{kQuantizedDenseMlp, "dense_mlp"},
    EnumName{kQuantizedSharedExperts, "shared_experts"},
    EnumName{kQuantizedExperts, "experts"},
    EnumName{kQuantizedHead, "head"}};
inline constexpr unsigned kQuantizedLinears = kQuantizedAttentionInput | kQuantizedAttentionOutput |
                                              kQuantizedDenseMlp | kQuantizedSharedExperts |
                                              kQuantizedExperts;

// Names of a product's operators.
struct LinearNames {
  std::string_view product;     // "attention.qkv"; unique in a layer
  std::string_view quantize;    // the cast of its operands
  std::string_view dequantize;  // a frozen 4-bit weight, written in 16 bits
};

// What tensor ranks hold of a weight, an array inputs x outputs. columns and rows cut it evenly;
// whole ranks have all of it.
enum class Split { columns, rows, whole };

// Transfers of the tensor group around a part.
enum class Exchange {
  none,
  input,   // of a column-parallel linear: gathered forward, reduced backward
  output,  // of a row-parallel linear: reduced forward, gathered backward
  shared   // a vector that all heads share: gathered forward, each rank's gradient summed
};

struct LayerPart {
  const LinearNames* names = nullptr;  // null: no product is modelled
  Module module = Module::norm;
  QuantizedPart quantized = kNotQuantized;
  Split split = Split::whole;
  std::int64_t inputs = 0, outputs = 0;  // of the weight; 0: vectors alone
  std::int64_t experts = 0;              // routed experts that have one such weight each
  // Numbers beside the weight, in each expert: biases and learned logits that are cut with it, and
  // biases, norms and factors that every rank holds.
  std::int64_t cut_numbers = 0, whole_numbers = 0;
  // Columns of `outputs` that belong to key-value groups, and the number of groups; ranks beyond
  // that number share groups.
  std::int64_t group_outputs = 0, groups = 0;

  Exchange exchange = Exchange::none;
  const transfer_names::BlockNames* transfers = nullptr;
  std::string_view exchanged = transfer_names::kHiddenFormula;  // the payload, as a formula

  bool forward_only = false;  // its output has no gradient

  [[nodiscard]] std::int64_t copies() const { return experts > 0 ? experts : 1; }
  // Weights of all experts together.
  [[nodiscard]] std::int64_t weights() const { return copies() * inputs * outputs; }
};
using LayerParts = std::vector<LayerPart>;

// Two input matrices (gate and up) where the activation is gated.
constexpr std::int64_t mlp_inputs(const Model& model) { return is_gated(model.activation) ? 2 : 1; }

// Vectors that a part's whole_numbers are: norms of queries and of keys; else of the hidden state,
// or one.
constexpr double vector_count(const Model& model, const LayerPart& part) {
  if (part.groups > 0 && part.whole_numbers > 0) return 2.0;
  const std::int64_t whole = part.inputs == 0 ? part.whole_numbers / model.hidden_size : 1;
  return static_cast<double>(whole > 0 ? whole : 1);
}

// Numbers of a norm over `width` columns.
constexpr std::int64_t norm_numbers(const Model& model, std::int64_t width) {
  switch (model.normalization) {
    case Normalization::none:
      return 0;
    case Normalization::layer_norm:
      return 2 * width;
    case Normalization::rms_norm:
      return width;
  }
  return 0;
}

}  // namespace meshwright
