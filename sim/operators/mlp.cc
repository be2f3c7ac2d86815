// SPDX-License-Identifier: Apache-2.0
// The MLP of one layer on one tensor rank, dense or a mixture of experts.
#include <algorithm>
#include <cmath>

#include "sim/operators/builders.h"

namespace meshwright {
namespace {

struct MlpNames {
  std::string_view fc1, activation, fc2, quantize_fc1, quantize_fc2;
  Module linears, between;  // the activation, with the cast of what leaves it
  Feed feed = Feed::other;
};

// Eager, the activated gate is a tensor of its own, which the product with `up` keeps: written and
// read once more forward; backward also reads it, writes and reads its gradient, and puts the two
// halves' gradients together.
void keep_gate(Operator& activation, double hidden, const RankShape& shape) {
  activation.forward_bytes += bytes(2.0 * hidden * shape.width);
  activation.backward_bytes += bytes(7.0 * hidden * shape.width);
  activation.saved += bytes(hidden * shape.width);
}

// `experts` products of `rows` tokens each through h -> width -> h.
void append_mlp(Operators& ops, const Model& model, std::int64_t experts, std::int64_t rows,
                std::int64_t width, const RankShape& shape, const MlpNames& names) {
  const int inputs = is_gated(model.activation) ? 2 : 1;
  const auto grouped = [&](Operator op) {
    const auto count = static_cast<double>(experts);
    op.batch = experts;
    op.of_expert = names.linears == Module::experts;
    op.forward_flops *= count;
    op.backward_flops *= count;
    op.forward_bytes *= count;
    op.backward_bytes *= count;
    return op;
  };
  const double hidden = static_cast<double>(experts * rows) * static_cast<double>(width);
  const Operator fc1 = grouped(
      gemm_operator(names.fc1, names.linears, rows, width * inputs, model.hidden_size, shape));
  append_linear(ops, names.quantize_fc1, fc1, names.feed, shape);
  ops.back().saved = bytes(hidden * inputs * shape.width);
  // Plain: forward x -> y, backward dy, x -> dx. Gated: forward gate, up -> y; backward dy, gate,
  // up -> two gradients.
  const double forward_touches = inputs == 2 ? 3 : 2;
  const double backward_touches = inputs == 2 ? 5 : 3;
  ops.push_back(memory_operator(names.activation, names.between, kernel::kActivation, hidden,
                                forward_touches, backward_touches, shape));
  ops.back().saved = bytes(hidden * shape.operand);
  if (inputs == 2 && shape.eager) keep_gate(ops.back(), hidden, shape);
  const Operator fc2 =
      grouped(gemm_operator(names.fc2, names.linears, rows, model.hidden_size, width, shape));
  append_linear(ops, names.quantize_fc2, fc2, Feed::other, shape);
  Operator& before = ops[ops.size() - 2];
  if (before.kernel == kernel::kQuantize) before.module = names.between;
}

}  // namespace

void append_dense_mlp(Operators& ops, const Model& model, std::int64_t ffn_hidden_size,
                      const RankShape& shape, bool shared_expert) {
  const MlpNames names =
      shared_expert
          ? MlpNames{"shared_expert.fc1",          "shared_expert.activation",
                     "shared_expert.fc2",          "shared_expert.quantize_fc1",
                     "shared_expert.quantize_fc2", Module::shared_expert,
                     Module::shared_expert}
          : MlpNames{"mlp.fc1",          "mlp.activation", "mlp.fc2",   "mlp.quantize_fc1",
                     "mlp.quantize_fc2", Module::mlp,      Module::mlp, Feed::norm};
  append_mlp(ops, model, 1, shape.rows, ffn_hidden_size / shape.tensor_size, shape, names);
}

void append_experts(Operators& ops, const Model& model, const Layout& layout,
                    const RankShape& shape) {
  const MixtureOfExperts& moe = *model.moe;
  // Megatron needs sequence parallelism for experts under tensor parallelism: each rank routes its
  // own share of the tokens. Balanced routing: every expert sees the same number.
  const std::int64_t tokens = shape.rows / shape.tensor_size;
  const double capacity = moe.moe_expert_capacity_factor > 0 ? moe.moe_expert_capacity_factor : 1.0;
  const std::int64_t expert_tensor = expert_tensor_size(layout);
  const std::int64_t experts = moe.num_moe_experts / layout.expert_parallel_size;
  const double copies = static_cast<double>(tokens) * static_cast<double>(expert_tensor) *
                        moe.moe_router_topk * capacity;
  const auto rows_per_expert = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::llround(copies / static_cast<double>(experts))));

  ops.push_back(gemm_operator("router", Module::router, tokens, moe.num_moe_experts,
                              model.hidden_size, shape));
  ops.back().saved = bytes(static_cast<double>(tokens) * moe.num_moe_experts * 4.0);  // fp32 scores
  const double moved = copies * model.hidden_size;
  ops.push_back(
      memory_operator("experts.permute", Module::router, kernel::kTranspose, moved, 2, 2, shape));
  ops.back().saved = bytes(moved * shape.operand);  // the dispatched tokens, fc1's input
  append_mlp(ops, model, experts, rows_per_expert, moe.moe_ffn_hidden_size / expert_tensor, shape,
             {"experts.fc1", "experts.activation", "experts.fc2", "experts.quantize_fc1",
              "experts.quantize_fc2", Module::experts, Module::expert_activation});
  ops.push_back(
      memory_operator("experts.unpermute", Module::router, kernel::kTranspose, moved, 2, 2, shape));
  if (moe.moe_shared_expert_intermediate_size > 0) {
    append_dense_mlp(ops, model, moe.moe_shared_expert_intermediate_size, shape, true);
  }
}

}  // namespace meshwright
