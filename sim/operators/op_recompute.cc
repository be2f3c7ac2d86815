// SPDX-License-Identifier: Apache-2.0
// torchtitan's op-level selective recompute (activation_checkpoint.selective_ac_option "op").
//
// It keeps a block's input and the outputs of listed operators: the first, third, fifth ... GEMM,
// fused attention, and the reduce-scatters of sequence parallelism. All other operators run again
// (torchtitan parallelize_llama.py, _save_list and _custom_policy, 004b3148 and ba246978). A Llama
// block multiplies by wq, wk, wv, wo, w1, w3, w2: wk, wo and w3 run again; in torchtitan 0.3.0,
// whose query, key and value are one product, wo and w3, and the reduce-scatters. Experts are
// grouped GEMMs, which are not listed.
#include <array>
#include <string_view>

#include "sim/operators/builders.h"

namespace meshwright {
namespace {

// Weights behind one of our GEMMs, in torchtitan's order, by their output columns.
struct JointColumns {
  std::array<double, 3> of{1.0, 0.0, 0.0};
  int count = 1;
};

JointColumns joint_columns(const Operator& op, const Model& model, const Layout& layout) {
  const bool fused = layout.tensor_engine == TensorEngine::spmd_types;
  if (op.name == "attention.qkv" && !fused) {
    const auto key = static_cast<double>(key_size(model));
    return {{static_cast<double>(query_size(model)), key, key}, 3};
  }
  if (op.name.ends_with("fc1") && is_gated(model.activation)) return {{1.0, 1.0, 0.0}, 2};
  return {};
}

// Share of the columns whose product has an odd number, counted from `products` on.
double kept_share(const JointColumns& columns, int products) {
  double kept = 0.0, all = 0.0;
  for (int i = 0; i < columns.count; ++i) {
    const double width = columns.of[static_cast<std::size_t>(i)];
    all += width;
    if ((products + i) % 2 == 0) kept += width;
  }
  return kept / all;
}

bool ends_in_reduce_scatter(const Operator& op) { return op.split == Split::rows; }

void mark_product(Operator& op, double kept, bool reduce_scatter, const RankShape& shape) {
  op.saved_by_op = op.saved * kept;
  op.again_by_op = 1.0 - kept;
  // The attention output counts with the projection that reads it.
  if (op.name == "attention.projection") {
    op.saved_by_op = bytes(static_cast<double>(op.m) * static_cast<double>(op.k) * shape.width);
  }
  if (!ends_in_reduce_scatter(op)) return;
  // A kept output that backward does not read is dropped by the compiler, and held in eager mode.
  const bool closes_block = op.name != "attention.projection";
  const bool held = !closes_block || shape.eager;
  const double columns = static_cast<double>(op.n) * shape.width;
  if (closes_block && !shape.eager) op.again_by_op = 0.0;
  if (shape.eager) op.saved_by_op += bytes(static_cast<double>(op.m) * columns * kept);
  if (reduce_scatter && held) {
    op.saved_by_op += bytes(static_cast<double>(shape.sequence_rows) * columns);
    op.again_by_op = 0.0;
  }
}

}  // namespace

void mark_op_recompute(Operators& ops, const Model& model, const Layout& layout,
                       const RankShape& shape) {
  const bool reduce_scatter = layout.sequence_parallel && layout.tensor_parallel_size > 1 &&
                              layout.tensor_engine != TensorEngine::spmd_types;
  int products = 0;
  for (Operator& op : ops) {
    if (op.kind == OperatorKind::attention) {
      op.saved_by_op = op.saved;
      op.again_by_op = 0.0;
    }
    if (op.kind != OperatorKind::gemm || !op.has_weight || op.of_expert) continue;
    if (op.module == Module::router || op.adapter) continue;
    const JointColumns columns = joint_columns(op, model, layout);
    mark_product(op, kept_share(columns, products), reduce_scatter, shape);
    products += columns.count;
  }
  if (ops.empty() || ops.back().module != Module::residual) return;
  // The block's input, which counts with the residual that ends the block before.
  ops.back().saved_by_op = ops.back().saved;
  ops.back().again_by_op = 0.0;
}

}  // namespace meshwright
