// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/unit_bytes.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/operators/builders.h"
#include "sim/operators/operators.h"

namespace meshwright {
namespace {

bool in_mlp(const Operator& op) {
  return op.module == Module::mlp || of_experts(op.module) || op.name == "mlp_norm";
}

void add_mlp_sizes(LayerSizes& sizes, const Operator& op, double width) {
  const auto elements = [&](std::int64_t columns) {
    return bytes(static_cast<double>(op.batch) * static_cast<double>(op.m) *
                 static_cast<double>(columns) * width);
  };
  if (op.name == "experts.permute") sizes.dispatched = op.saved;
  if (op.name.ends_with("fc1")) sizes.hidden_input = std::max(sizes.hidden_input, elements(op.n));
  if (op.name.ends_with("fc2")) sizes.hidden = std::max(sizes.hidden, elements(op.k));
}

LayerSizes sizes_of(const Operators& operators, const Layout& layout, double width,
                    bool fully_recomputed) {
  LayerSizes sizes;
  for (const Operator& op : operators) {
    const Bytes kept = fully_recomputed ? Bytes{} : kept_bytes(op, layout);
    const Bytes again = std::max(Bytes{}, op.saved - kept);
    const bool mlp = in_mlp(op);
    (mlp ? sizes.again_mlp : sizes.again_other) += again;
    (mlp ? sizes.kept_mlp : sizes.kept_other) += kept;
    add_mlp_sizes(sizes, op, width);
    if (op.name == "attention.core") sizes.heads = op.forward_bytes;
    if (op.name == "recurrent.convolution") sizes.heads = op.forward_bytes;
    if (op.name == "attention.split_heads") sizes.heads = op.forward_bytes * 0.5;
    if (op.name == "attention.scores") {
      sizes.scores = bytes(2.0 * static_cast<double>(op.batch) * static_cast<double>(op.m) *
                           static_cast<double>(op.n) * width);
    }
    // fp32 gradients, less the 16-bit probabilities that the context product has freed.
    if (op.name == "attention.probabilities") sizes.scores *= (2.0 * 4.0 - width) / (2.0 * width);
  }
  return sizes;
}

Bytes offloaded_bytes(const Operators& operators, const Model& model, LayerKind kind,
                      const Layout& layout) {
  Bytes sum;
  if (layout.offload_modules.bits == 0) return sum;
  for (const Operator& op : operators) {
    const bool named = layout.offload_modules.has(offload_module(op, model, kind));
    if (named) sum += kept_bytes(op, layout);
  }
  return sum;
}

using Shapes = std::vector<std::pair<std::int64_t, std::int64_t>>;

Shapes weight_shapes(const Operators& operators) {
  Shapes shapes;
  for (const Operator& op : operators) {
    if (trains_weight(op) && op.module != Module::router) shapes.emplace_back(op.k, op.n);
  }
  return shapes;
}

// Transformer Engine adds weight gradients to the main gradients inside the GEMM and hands autograd
// a placeholder, one for each shape of weight, which it keeps (module/base.py, get_dummy_wgrad).
Bytes placeholders(const std::array<Shapes, kLayerKinds>& by_kind, unsigned kinds,
                   const Numerics& numerics) {
  if (!has_master_weights(numerics.precision)) return {};
  if (numerics.kernel_fusion != KernelFusion::fused) return {};  // no Transformer Engine
  if (freezes_weights(numerics)) return {};                      // adapters are not its linears
  Shapes seen;
  double elements = 0.0;
  for (std::size_t k = 0; k < by_kind.size(); ++k) {
    if ((kinds >> k & 1U) == 0) continue;
    for (const auto& shape : by_kind[k]) {
      if (std::find(seen.begin(), seen.end(), shape) != seen.end()) continue;
      seen.push_back(shape);
      elements += static_cast<double>(shape.first) * static_cast<double>(shape.second);
    }
  }
  return bytes(elements * weight_bytes(numerics.precision));
}

}  // namespace

Bytes UnitBytes::placeholders_of(unsigned kinds) const {
  const auto found = std::find_if(placeholders.begin(), placeholders.end(),
                                  [&](const auto& of_set) { return of_set.first == kinds; });
  return found == placeholders.end() ? Bytes{} : found->second;
}

UnitBytes unit_bytes(const Model& model, const Numerics& numerics, const TokenShape& tokens,
                     const Layout& layout) {
  UnitBytes units;
  const RankShape shape = rank_shape(numerics, tokens, layout);
  std::array<Shapes, kLayerKinds> shapes;
  const unsigned kinds = kinds_of(model, {.chunks = {{0, model.num_layers}}});
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if ((kinds >> k & 1U) == 0) continue;
    const LayerKind kind = layer_kind_of(k);
    const Operators operators = layer_operators(model, kind, numerics, tokens, layout);
    units.layers[k] = {layer_activation_bytes(model, kind, numerics, tokens, layout, false),
                       offloaded_bytes(operators, model, kind, layout),
                       layer_weight_gradient_bytes(model, kind, numerics, tokens, layout),
                       sizes_of(operators, layout, shape.width, false),
                       sizes_of(operators, layout, shape.width, true)};
    shapes[k] = weight_shapes(operators);
  }
  for (unsigned set = kinds; set > 0; set = (set - 1) & kinds) {
    units.placeholders.emplace_back(set, placeholders(shapes, set, numerics));
  }
  units.input = layer_input_bytes(model, numerics, tokens, layout);
  units.hidden = units.input / static_cast<double>(model.num_residual_streams);
  units.gathered = bytes(static_cast<double>(shape.rows) * model.hidden_size * shape.width);
  units.embedding = embedding_activation_bytes(model, numerics, tokens, layout);
  units.head = head_activation_bytes(model, numerics, tokens, layout);
  units.mtp = mtp_activation_bytes(model, numerics, tokens, layout);
  units.mtp_weight_gradient = mtp_weight_gradient_bytes(model, numerics, tokens, layout);
  const bool again = mtp_is_recomputed(layout);
  units.mtp_layer = {layer_kind(model, model.num_layers - 1), again, again};
  units.logits = logits_bytes(model, numerics, tokens, layout);
  units.head_passes = 1 + model.mtp_num_layers;
  return units;
}

}  // namespace meshwright
