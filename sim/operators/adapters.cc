// SPDX-License-Identifier: Apache-2.0
// LoRA (arXiv 2106.09685): y = x W + (alpha / r) x A B. W is frozen: backward multiplies its
// output's gradient by W, and has no product for W's gradient. A (k x r) and B (r x n) are trained
// in 16 bits. Under tensor parallelism an adapter is split as Megatron-Bridge's
// ParallelLinearAdapter (peft/utils.py): beside a column-parallel linear A by its columns and B by
// its columns, beside a row-parallel one A by its rows and B by its columns.
#include <algorithm>
#include <cstdint>

#include "sim/base/narrow_format.h"
#include "sim/operators/builders.h"

namespace meshwright {
namespace {

// The columns of a joint linear that one adapter works on.
enum class AdaptedColumns { all, query, key, half };
struct AdapterRow {
  unsigned modules;  // any of these asks for it
  std::string_view linear;
  AdaptedColumns columns;
  std::string_view a, b, sum;
};
constexpr unsigned kAnyQuery = kLoraQkv | kLoraQ;
constexpr unsigned kAnyKeyValue = kLoraQkv | kLoraK | kLoraV;
constexpr AdaptedColumns kAll = AdaptedColumns::all;
constexpr AdaptedColumns kHalf = AdaptedColumns::half;
constexpr AdapterRow kAdapters[] = {
    {kLoraQkv, "attention.qkv", kAll, "attention.qkv.lora_a", "attention.qkv.lora_b",
     "attention.qkv.lora_sum"},
    {kLoraQ, "attention.qkv", AdaptedColumns::query, "attention.q.lora_a", "attention.q.lora_b",
     "attention.q.lora_sum"},
    {kLoraK, "attention.qkv", AdaptedColumns::key, "attention.k.lora_a", "attention.k.lora_b",
     "attention.k.lora_sum"},
    {kLoraV, "attention.qkv", AdaptedColumns::key, "attention.v.lora_a", "attention.v.lora_b",
     "attention.v.lora_sum"},
    {kAnyQuery, "attention.q", kAll, "attention.q.lora_a", "attention.q.lora_b",
     "attention.q.lora_sum"},
    {kAnyQuery, "attention.q_down", kAll, "attention.q_down.lora_a", "attention.q_down.lora_b",
     "attention.q_down.lora_sum"},
    {kAnyQuery, "attention.q_up", kAll, "attention.q_up.lora_a", "attention.q_up.lora_b",
     "attention.q_up.lora_sum"},
    {kAnyKeyValue, "attention.kv_down", kAll, "attention.kv_down.lora_a",
     "attention.kv_down.lora_b", "attention.kv_down.lora_sum"},
    {kAnyKeyValue, "attention.kv_up", kAll, "attention.kv_up.lora_a", "attention.kv_up.lora_b",
     "attention.kv_up.lora_sum"},
    {kLoraProj, "attention.projection", kAll, "attention.projection.lora_a",
     "attention.projection.lora_b", "attention.projection.lora_sum"},
    {kLoraFc1, "mlp.fc1", kAll, "mlp.fc1.lora_a", "mlp.fc1.lora_b", "mlp.fc1.lora_sum"},
    {kLoraFc1Gate, "mlp.fc1", kHalf, "mlp.gate.lora_a", "mlp.gate.lora_b", "mlp.gate.lora_sum"},
    {kLoraFc1Up, "mlp.fc1", kHalf, "mlp.up.lora_a", "mlp.up.lora_b", "mlp.up.lora_sum"},
    {kLoraFc2, "mlp.fc2", kAll, "mlp.fc2.lora_a", "mlp.fc2.lora_b", "mlp.fc2.lora_sum"},
    {kLoraFc1, "shared_expert.fc1", kAll, "shared_expert.fc1.lora_a", "shared_expert.fc1.lora_b",
     "shared_expert.fc1.lora_sum"},
    {kLoraFc1Gate, "shared_expert.fc1", kHalf, "shared_expert.gate.lora_a",
     "shared_expert.gate.lora_b", "shared_expert.gate.lora_sum"},
    {kLoraFc1Up, "shared_expert.fc1", kHalf, "shared_expert.up.lora_a", "shared_expert.up.lora_b",
     "shared_expert.up.lora_sum"},
    {kLoraFc2, "shared_expert.fc2", kAll, "shared_expert.fc2.lora_a", "shared_expert.fc2.lora_b",
     "shared_expert.fc2.lora_sum"},
    {kLoraFc1, "experts.fc1", kAll, "experts.fc1.lora_a", "experts.fc1.lora_b",
     "experts.fc1.lora_sum"},
    {kLoraFc1Gate, "experts.fc1", kHalf, "experts.gate.lora_a", "experts.gate.lora_b",
     "experts.gate.lora_sum"},
    {kLoraFc1Up, "experts.fc1", kHalf, "experts.up.lora_a", "experts.up.lora_b",
     "experts.up.lora_sum"},
    {kLoraFc2, "experts.fc2", kAll, "experts.fc2.lora_a", "experts.fc2.lora_b",
     "experts.fc2.lora_sum"},
};

// Operators whose saved bytes hold a linear's input, with what of them is that input's.
struct InputOf {
  std::string_view linear, producer;
};
constexpr InputOf kInputs[] = {
    {"attention.qkv", "input_norm"},
    {"recurrent.input", "input_norm"},
    {"attention.q_up", "attention.q_norm"},
    {"attention.kv_up", "attention.kv_norm"},
    {"mlp.fc1", "mlp_norm"},
    {"router", "mlp_norm"},
    {"mlp.fc2", "mlp.activation"},
    {"experts.fc1", "experts.permute"},
    {"experts.fc2", "experts.activation"},
    {"shared_expert.fc2", "shared_expert.activation"},
    {"logits", "final_norm"},
};

Operator* operator_named(Operators& ops, std::string_view name) {
  const auto found =
      std::find_if(ops.begin(), ops.end(), [&](const Operator& op) { return op.name == name; });
  return found == ops.end() ? nullptr : &*found;
}

double rows_of_linear(const Operator& op) {
  return static_cast<double>(op.batch) * static_cast<double>(op.m);
}

// Frees the saved input of a frozen linear, which only its weight gradient would need. Attention's
// output is saved by the linear itself, in its operand's format; other inputs by their producer.
void release_input(Operators& ops, Operator& linear, const RankShape& shape) {
  if (linear.name == "attention.projection" && shape.operand < shape.width) {
    linear.saved -= bytes(rows_of_linear(linear) * static_cast<double>(linear.k) * shape.operand);
    return;
  }
  for (const InputOf& input : kInputs) {
    if (input.linear != linear.name) continue;
    Operator* producer = operator_named(ops, input.producer);
    if (producer == nullptr) return;
    const bool permuted = producer->name == "experts.permute";
    const double pieces =
        producer->name.ends_with("norm") && linear.m == shape.rows
            ? static_cast<double>(shape.sequence_rows) / static_cast<double>(shape.rows)
            : 1.0;
    const double number = linear.module == Module::router || linear.module == Module::head
                              ? shape.width
                              : shape.operand;
    const Bytes kept =
        bytes(rows_of_linear(linear) * static_cast<double>(linear.k) * number * pieces);
    producer->saved = permuted ? Bytes{} : std::max(Bytes{}, producer->saved - kept);
    return;
  }
}

// Without a weight gradient operands are cast by rows alone.
void cast_once(Operators& ops, std::size_t linear, const Numerics& numerics,
               const RankShape& shape) {
  if (linear == 0 || ops[linear - 1].kernel != kernel::kQuantize) return;
  const double saved_copies = (operand_copies(numerics) - 1.0) * shape.operand;
  const double rows = rows_of_linear(ops[linear]);
  Operator& cast = ops[linear - 1];
  const auto less = [&](Bytes& traffic, std::int64_t width) {
    if (traffic > bytes(0)) traffic -= bytes(rows * static_cast<double>(width) * saved_copies);
  };
  less(cast.forward_bytes, ops[linear].k);
  less(cast.backward_bytes, ops[linear].n);
}

std::int64_t adapted_columns(const Operator& linear, AdaptedColumns columns, const Model& model,
                             const RankShape& shape) {
  switch (columns) {
    case AdaptedColumns::all:
      break;
    case AdaptedColumns::query:
      return query_size(model) / shape.tensor_size;
    case AdaptedColumns::key:
      return std::max<std::int64_t>(1, key_size(model) / shape.tensor_size);
    case AdaptedColumns::half:
      return linear.n / 2;
  }
  return linear.n;
}

Operator adapter_product(std::string_view name, const Operator& linear, std::int64_t n,
                         std::int64_t k, const RankShape& shape) {
  Operator op = gemm_operator(name, linear.module, linear.m, n, k, shape);
  const auto count = static_cast<double>(linear.batch);
  op.adapter = true;
  op.batch = linear.batch;
  op.of_expert = linear.of_expert;
  op.launches = linear.launches;
  op.forward_flops *= count;
  op.backward_flops *= count;
  op.forward_bytes *= count;
  op.backward_bytes *= count;
  return op;
}

// A, B, and the scaled sum of both branches. Forward the scale reads and writes B's output and the
// sum reads two and writes one; backward scales the gradient and adds the adapter's input gradient
// to the linear's. Dropout writes its input once more, and a mask.
void append_adapter(Operators& ops, const AdapterRow& row, const Operator& linear,
                    const Model& model, const Numerics& numerics, const RankShape& shape) {
  const std::int64_t rank = numerics.lora_rank;
  const std::int64_t tensor = shape.tensor_size;
  const Split split = linear.of_expert ? Split::whole : linear.split;
  const std::int64_t of_rank = split == Split::columns ? (rank + tensor - 1) / tensor : rank;
  const std::int64_t columns = adapted_columns(linear, row.columns, model, shape);
  const std::int64_t written = split == Split::rows ? (columns + tensor - 1) / tensor : columns;
  const double rows = rows_of_linear(linear);
  const double input = rows * static_cast<double>(linear.k);
  Operator a = adapter_product(row.a, linear, of_rank, linear.k, shape);
  a.saved = bytes(rows * static_cast<double>(rank) * shape.width);
  const bool drops = numerics.lora_dropout > 0.0;
  if (drops) a.saved += bytes(input * (shape.width + 1.0));
  ops.push_back(a);
  ops.push_back(adapter_product(row.b, linear, written, rank, shape));
  const double pieces = split == Split::rows ? static_cast<double>(shape.sequence_rows) /
                                                   static_cast<double>(shape.rows)
                                             : 1.0;
  Operator sum = memory_operator(row.sum, linear.module, kernel::kAdd,
                                 rows * pieces * static_cast<double>(columns), 5, 2, shape);
  sum.adapter = true;
  sum.of_expert = linear.of_expert;
  sum.launches = 2;
  sum.backward_bytes += bytes(3.0 * input * shape.width);
  if (drops) {
    sum.forward_bytes += bytes(input * (2.0 * shape.width + 1.0));
    sum.backward_bytes += bytes(input * (2.0 * shape.width + 1.0));
  }
  ops.push_back(sum);
}

// 4-bit weights are written in 16 bits before each product (bitsandbytes dequantize_4bit).
Operator dequantizing(const Operator& linear, const Numerics& numerics, const RankShape& shape) {
  Operator op =
      memory_operator(linear.linear->dequantize, linear.module, kernel::kQuantize, 0, 0, 0, shape);
  op.of_expert = linear.of_expert;
  const double weights = static_cast<double>(linear.batch) * static_cast<double>(linear.k) *
                         static_cast<double>(linear.n);
  op.forward_bytes = bytes(weights * (frozen_weight_bytes(numerics) + shape.width));
  op.backward_bytes = op.forward_bytes;
  return op;
}

bool is_quantized(const Operator& op, const Numerics& numerics) {
  return numerics.frozen_weight_precision == Precision::fp4 && is_layer_linear(op);
}

}  // namespace

void freeze_weights(Operators& ops, const RankShape& shape) {
  for (Operator& op : ops) {
    if (op.kind != OperatorKind::gemm || !op.has_weight || op.adapter) continue;
    op.frozen = true;
    op.backward_flops = op.forward_flops;
    op.backward_bytes = op.forward_bytes;
    release_input(ops, op, shape);
  }
}

void add_adapters(Operators& ops, const Model& model, const Numerics& numerics,
                  const RankShape& shape) {
  freeze_weights(ops, shape);
  Operators all;
  all.reserve(2 * ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].frozen && is_narrow(numerics.precision)) cast_once(ops, i, numerics, shape);
  }
  for (const Operator& op : ops) {
    if (op.frozen && is_quantized(op, numerics)) all.push_back(dequantizing(op, numerics, shape));
    all.push_back(op);
    if (!op.frozen) continue;
    bool adapted = false;
    for (const AdapterRow& row : kAdapters) {
      if (row.linear != op.name || (row.modules & numerics.lora_target_modules.bits) == 0) continue;
      append_adapter(all, row, op, model, numerics, shape);
      adapted = true;
    }
    // The adapters of a linear share its input, which they keep gathered and in 16 bits.
    if (!adapted || numerics.lora_dropout > 0.0) continue;
    // Attention keeps its output anyway, in 16 bits unless it works in fp8.
    if (op.name == "attention.projection" && shape.attention == shape.width) continue;
    all.back().saved += bytes(rows_of_linear(op) * static_cast<double>(op.k) * shape.width);
  }
  ops = std::move(all);
}

}  // namespace meshwright
