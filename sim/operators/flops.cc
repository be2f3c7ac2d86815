// SPDX-License-Identifier: Apache-2.0
// FLOPs that a model needs, whatever the layout (Megatron-LM num_floating_point_operations).
#include "sim/block/layer.h"
#include "sim/operators/builders.h"

namespace meshwright {
namespace {

// Multiply-adds of one token through one layer's products; of routed experts, those that it meets.
// An indexer's products run forward alone: in one of `passes`.
double layer_matrix_size(const Model& model, LayerKind kind, double passes) {
  double size = 0.0;
  for (const LayerPart& part : layer_parts(model, kind)) {
    if (part.names == nullptr) continue;
    const std::int64_t met = part.experts > 0 ? model.moe->moe_router_topk : 1;
    const double run = part.forward_only ? 1.0 / passes : 1.0;
    size += static_cast<double>(met * part.inputs * part.outputs) * run;
  }
  return size;
}

double layer_attention_flops(const Model& model, LayerKind kind, const Numerics& numerics,
                             const TokenShape& sequence) {
  if (model.num_attention_heads == 0 || !kind.mixer) return 0.0;
  double sum =
      kind.linear_attention ? static_cast<double>(sequence.queries) * scan_flops(model) : 0.0;
  if (!attends(kind)) return sum;
  const double widths = static_cast<double>(query_size(model) + attention_output_size(model));
  sum += 2.0 * widths * attention_pairs(model, kind, numerics, sequence, 1);
  // Scores of an indexer, forward alone.
  if (const auto indexer = indexer_of(model, kind)) {
    const double rate = seen_entries(model, kind).rate;
    sum += indexer->pair_flops() * seen_pairs({0, rate, 0}, numerics, sequence, 1) / 3.0;
  }
  return sum;
}

}  // namespace

Flops model_flops(const Model& model, const Job& job, bool causal_half) {
  Numerics counted = job;
  counted.causal = causal_half;
  const TokenShape sequence{1, job.seq_length, job.seq_length};
  const double h = model.hidden_size;
  const double passes = freezes_weights(job) ? 2.0 : 3.0;
  double per_token = 0.0;
  double per_sequence = 0.0;
  for (int i = 0; i < model.num_layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    per_token += layer_matrix_size(model, kind, passes);
    per_sequence += layer_attention_flops(model, kind, counted, sequence);
  }
  per_token += h * model.vocab_size;
  const LayerKind last = layer_kind(model, model.num_layers - 1);
  per_token += model.mtp_num_layers *
               (layer_matrix_size(model, last, passes) + 2.0 * h * h + h * model.vocab_size);
  per_sequence += model.mtp_num_layers * layer_attention_flops(model, last, counted, sequence);
  // 2 FLOPs a multiply-add, and backward twice forward; once for a frozen matrix. LoRA's adapters,
  // a thousandth of the matrices, are not counted.
  const double sequences = job.global_batch_size;
  return flops(sequences * (passes * 2.0 * per_token * job.seq_length + 3.0 * per_sequence));
}

}  // namespace meshwright
