// SPDX-License-Identifier: Apache-2.0
// The MLP of one layer on one tensor rank, dense or a mixture of experts.
#include "sim/block/mlp.h"

#include <algorithm>
#include <cmath>

#include "sim/model/routing.h"
#include "sim/operators/builders.h"

namespace meshwright {
namespace {

struct Between {
  std::string_view activation;
  Module module;  // of the activation, with the cast of what leaves it
  Feed feed = Feed::other;
};

// Products that a rank runs side by side, and the ranks that share each weight.
struct Share {
  std::int64_t experts = 1, ranks = 1;
};

// Eager, the activated gate is a tensor of its own, which the product with `up` keeps: written and
// read once more forward; backward also reads it, writes and reads its gradient, and puts the two
// halves' gradients together.
void keep_gate(Operator& activation, double hidden, const RankShape& shape) {
  activation.forward_bytes += bytes(2.0 * hidden * shape.width);
  activation.backward_bytes += bytes(7.0 * hidden * shape.width);
  activation.saved += bytes(hidden * shape.width);
}

// Rows are weighed by their probabilities after the activation (Megatron-LM
// fusions/fused_bias_swiglu.py, weighted_swiglu_back): the gradient of a row's probability is a sum
// over what it weighed, for which a second kernel reads the activation's input and dy again.
void weigh_rows(Operator& activation, double hidden, int inputs, const RankShape& shape) {
  activation.backward_bytes += bytes(hidden * (inputs + 1) * shape.width);
}

// Products of `rows` tokens each through h -> width -> h.
void append_mlp(Operators& ops, const MlpParts& mlp, std::int64_t rows, Share share,
                const RankShape& shape, const Between& between) {
  const auto [experts, ranks] = share;
  const auto inputs = static_cast<int>(mlp.fc1.outputs / mlp.fc2.inputs);
  const std::int64_t width = mlp.fc2.inputs / ranks;
  const bool routed = mlp.fc1.experts > 0;
  const auto grouped = [&](Operator op) {
    const auto count = static_cast<double>(experts);
    op.batch = experts;
    op.of_expert = routed;
    op.launches = experts;
    op.forward_flops *= count;
    op.backward_flops *= count;
    op.forward_bytes *= count;
    op.backward_bytes *= count;
    return op;
  };
  const double hidden = static_cast<double>(experts * rows) * static_cast<double>(width);
  const auto first = static_cast<std::ptrdiff_t>(ops.size());
  append_linear(ops, grouped(linear_operator(mlp.fc1, rows, ranks, shape)), between.feed, shape);
  const double input = inputs == 2 ? shape.activation_input : shape.width;
  ops.back().saved = bytes(hidden * inputs * input);
  // Plain: forward x -> y, backward dy, x -> dx. Gated: forward gate, up -> y; backward dy, gate,
  // up -> two gradients.
  const double forward_touches = inputs == 2 ? 3 : 2;
  const double backward_touches = inputs == 2 ? 5 : 3;
  ops.push_back(memory_operator(between.activation, between.module, kernel::kActivation, hidden,
                                forward_touches, backward_touches, shape));
  ops.back().saved = bytes(hidden * shape.operand);
  if (input < shape.width) {  // cast after the forward, and back before the backward
    ops.back().forward_bytes += bytes(hidden * inputs * (shape.width + input));
    ops.back().backward_bytes += bytes(hidden * inputs * (shape.width + input));
  }
  if (inputs == 2 && shape.eager) keep_gate(ops.back(), hidden, shape);
  if (routed) weigh_rows(ops.back(), hidden, inputs, shape);
  append_linear(ops, grouped(linear_operator(mlp.fc2, rows, ranks, shape)), Feed::other, shape);
  Operator& before = ops[ops.size() - 2];
  if (before.kernel == kernel::kQuantize) before.module = between.module;
  if (!routed) return;
  // Each expert's rows are cast by a kernel of their own.
  for (auto op = ops.begin() + first; op != ops.end(); ++op) {
    op->of_expert = true;
    if (op->kernel == kernel::kQuantize) op->launches = experts;
  }
}

// Tokens and sizes of a layer's experts on one rank.
struct ExpertLoad {
  std::int64_t experts = 1;  // experts on this rank
  double tokens = 0;         // tokens that the rank routes
  double copies = 0;         // token copies, one for each expert of a token
};

Operator of_experts(std::string_view name, Module module, std::string_view kernel, double elements,
                    double forward_touches, double backward_touches, const RankShape& shape) {
  Operator op =
      memory_operator(name, module, kernel, elements, forward_touches, backward_touches, shape);
  op.of_expert = true;
  return op;
}

// Rows of width h read and written to put tokens into their experts' order, or back, by what
// brought them (Megatron-LM moe/token_dispatcher.py): alltoall permutes what it sends, and sorts
// what it receives by local expert, and in fp8 pads it; DeepEP delivers a row a token and rank;
// HybridEP and NCCL EP permute as they copy out of their buffers.
double permuted_rows(const ExpertLoad& load, const Model& model, const Layout& layout,
                     const RankShape& shape) {
  const double permute = load.tokens + load.copies;
  const int ranks = layout.expert_parallel_size;
  if (ranks == 1) return permute;
  switch (layout.moe_token_dispatcher_type) {
    case MoeTokenDispatcherType::allgather:
      return 2.0 * load.copies;
    case MoeTokenDispatcherType::alltoall: {
      const double sorted = load.experts > 1 ? 2.0 * load.copies : 0.0;
      const double padded = shape.operand < shape.width ? 2.0 * load.copies : 0.0;
      return permute + sorted + padded;
    }
    case MoeTokenDispatcherType::flex:
      break;
  }
  if (layout.moe_flex_dispatcher_backend != MoeFlexDispatcherBackend::deepep) return 0.0;
  return load.tokens * places_of_token(routing_of(*model.moe), ranks) + load.copies;
}

// Megatron-LM clamps gate and linear part by kernels of their own: two clamps and their
// concatenation, of f and 2f columns; backward a mask each and the two halves put together
// (fusions/fused_bias_geglu.py). Elements of one half, touched so often.
void append_clamp(Operators& ops, double hidden, const RankShape& shape) {
  ops.push_back(
      of_experts("experts.clamp", Module::expert_activation, kernel::kAdd, hidden, 8, 10, shape));
  ops.back().launches = 3;
  ops.back().saved = bytes(2.0 * hidden * shape.width);  // the clamped halves, beside fc1's output
}

// The second bias is added expert by expert, times the fp32 probabilities (moe/experts.py,
// _apply_bias): product, sum, concatenation and cast move 24 bytes and two stored numbers; backward
// the cast, the sum's and the product's gradients and their sums, and the slices put together 32
// and four.
void append_bias(Operators& ops, const ExpertLoad& load, double outputs, const RankShape& shape) {
  Operator op = of_experts("experts.bias", Module::experts, kernel::kAdd, outputs, 2, 4, shape);
  op.forward_bytes += bytes(24.0 * outputs);
  op.backward_bytes += bytes(32.0 * outputs);
  op.launches = 2 * load.experts + 2;
  ops.push_back(op);
}

// A graph of the whole step holds no tensors of varying size: what is kept is copied to pages, and
// back (--moe-paged-stash).
void append_stash(Operators& ops, const ExpertLoad& load, const Model& model, double width,
                  const RankShape& shape) {
  const auto inputs = static_cast<double>(mlp_inputs(model));
  const double kept = static_cast<double>(expert_hidden_size(model)) * shape.operand +
                      width * inputs * shape.width + width * shape.operand;
  ops.push_back(of_experts("experts.stash", Module::experts, kernel::kAdd,
                           load.copies * kept / shape.width, 2, 2, shape));
}

// A capacity factor fills each expert's buffer up to it; gathered tokens are not padded, and what a
// factor below one drops is dropped there, too (Megatron-LM moe/token_dispatcher.py: drop_and_pad).
double rows_over_copies(const MixtureOfExperts& moe, MoeTokenDispatcherType dispatcher) {
  const double factor = moe.moe_expert_capacity_factor;
  if (factor == 0.0) return 1.0;
  return dispatcher == MoeTokenDispatcherType::allgather ? std::min(1.0, factor) : factor;
}

// Where Transformer Engine fuses the experts of a graph, products of scaled blocks activate and
// cast what they put out: fc1 forward, fc2's input gradient backward
// (pytorch/ops/fused/grouped_mlp.py).
void fuse_activation(Operators& ops, std::ptrdiff_t first) {
  for (auto op = ops.begin() + first; op != ops.end(); ++op) {
    const bool activation = op->kernel == kernel::kActivation;
    if (activation || op->name == "experts.quantize_fc2") op->forward_bytes = {};
    if (activation || op->name == "experts.quantize_fc1") op->backward_bytes = {};
  }
}

}  // namespace

void append_dense_mlp(Operators& ops, const Model& model, const RankShape& shape) {
  append_mlp(ops, dense_mlp(model), shape.rows, {1, shape.tensor_size}, shape,
             {"mlp.activation", Module::mlp, Feed::norm});
}

void append_experts(Operators& ops, const Model& model, const Layout& layout,
                    const RankShape& shape) {
  const MixtureOfExperts& moe = *model.moe;
  // Megatron needs sequence parallelism for experts under tensor parallelism: each rank routes its
  // own share of the tokens. Balanced routing: every expert sees the same number.
  const std::int64_t tokens = shape.rows / shape.tensor_size;
  const double capacity = rows_over_copies(moe, layout.moe_token_dispatcher_type);
  const std::int64_t expert_tensor = expert_tensor_size(layout);
  const std::int64_t experts = moe.num_moe_experts / layout.expert_parallel_size;
  const double copies = static_cast<double>(tokens) * static_cast<double>(expert_tensor) *
                        moe.moe_router_topk * capacity;
  const auto rows_per_expert = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::llround(copies / static_cast<double>(experts))));

  ops.push_back(linear_operator(router_part(model), tokens, shape));
  ops.back().saved = bytes(static_cast<double>(tokens) * moe.num_moe_experts * 4.0);  // fp32 scores
  const ExpertLoad load{experts, static_cast<double>(tokens), copies};
  const auto hidden = static_cast<double>(expert_hidden_size(model));
  const double moved = copies * hidden;
  const double permuted = permuted_rows(load, model, layout, shape) * hidden;
  if (moe.moe_latent_size > 0) ops.push_back(linear_operator(latent_down(model), tokens, shape));
  ops.push_back(
      of_experts("experts.permute", Module::router, kernel::kTranspose, permuted, 1, 1, shape));
  ops.back().saved = bytes(moved * shape.operand);  // the dispatched tokens, fc1's input
  const std::int64_t width = moe.moe_ffn_hidden_size / expert_tensor;
  // A graph of the whole step has Transformer Engine's fused experts
  // (--use-transformer-engine-op-fuser): clamp and biases are their GEMMs' epilogues.
  const bool fused = captures_experts(layout);
  if (model.activation_func_clamp_value > 0 && is_gated(model.activation) && !fused) {
    append_clamp(ops, copies * static_cast<double>(width), shape);
  }
  const auto first = static_cast<std::ptrdiff_t>(ops.size());
  append_mlp(ops, routed_experts(model), rows_per_expert, {experts, expert_tensor}, shape,
             {"experts.activation", Module::expert_activation});
  if (fused && shape.scaled_blocks) fuse_activation(ops, first);
  if (moe.moe_expert_bias && !fused) append_bias(ops, load, moved, shape);
  if (fused && moe.moe_expert_capacity_factor == 0.0) {
    append_stash(ops, load, model, static_cast<double>(width), shape);
  }
  ops.push_back(
      of_experts("experts.unpermute", Module::router, kernel::kTranspose, permuted, 1, 1, shape));
  // transformers weighs what experts put out, which the probabilities' gradient needs (grouped_mm).
  if (shape.transformers) ops.back().saved = bytes(moved * shape.width);
  if (moe.moe_latent_size > 0) {
    ops.push_back(linear_operator(latent_up(model), tokens, shape));
    ops.back().saved = bytes(static_cast<double>(tokens) * hidden * shape.width);
  }
  if (moe.moe_shared_expert_intermediate_size > 0) {
    append_mlp(ops, shared_expert_mlp(model), shape.rows, {1, shape.tensor_size}, shape,
               {"shared_expert.activation", Module::shared_expert});
  }
}

}  // namespace meshwright
