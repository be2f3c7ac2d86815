// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/activation_memory.h"

#include <algorithm>
#include <vector>

#include "sim/cost/memory.h"
#include "sim/model/operators.h"

namespace meshwright {
namespace {

Bytes saved_bytes(const std::vector<Operator>& operators) {
  Bytes sum;
  for (const Operator& op : operators) sum += op.saved;
  return sum;
}

bool has_head(const Stage& stage) {
  return std::any_of(stage.chunks.begin(), stage.chunks.end(),
                     [](const Chunk& c) { return c.head; });
}

// The kind of every layer of a stage, first to last.
std::vector<LayerKind> layer_kinds(const Model& model, const Stage& stage) {
  std::vector<LayerKind> kinds;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      kinds.push_back(layer_kind(model, chunk.first_layer + i));
    }
  }
  return kinds;
}

// The same, each kind once.
std::vector<LayerKind> distinct_kinds(const Model& model, const Stage& stage) {
  std::vector<LayerKind> distinct;
  for (const LayerKind& kind : layer_kinds(model, stage)) {
    if (std::find(distinct.begin(), distinct.end(), kind) == distinct.end()) {
      distinct.push_back(kind);
    }
  }
  return distinct;
}

// Layers that share one checkpoint (Megatron-LM --recompute-method uniform
// --recompute-num-layers n keeps the input of every n-th layer).
int layers_per_checkpoint(const Layout& layout) {
  const bool grouped = layout.recompute_granularity == RecomputeGranularity::full &&
                       layout.recompute_method == RecomputeMethod::uniform;
  return grouped ? std::max(1, layout.recompute_num_layers) : 1;
}

Bytes mtp_activation_bytes(const Model& model, const Job& job, const Layout& layout) {
  if (model.mtp_num_layers == 0) return {};
  const LayerKind kind = layer_kind(model, model.num_layers - 1);
  const bool recomputed = layout.recompute_granularity == RecomputeGranularity::full;
  return model.mtp_num_layers * (layer_activation_bytes(model, kind, job, layout, recomputed) +
                                 saved_bytes(mtp_operators(model, job, layout)));
}

// Everything of the head that is not logits or loss: its norm.
Bytes head_activation_bytes(const Model& model, const Job& job, const Layout& layout) {
  Bytes sum;
  for (const Operator& op : head_operators(model, job, layout)) {
    if (op.module != Module::head) sum += op.saved;
  }
  return sum * (1 + model.mtp_num_layers) + mtp_activation_bytes(model, job, layout);
}

// Layers of a stage in order: the first `recomputed` keep a checkpoint every `group` layers; the
// first `offloaded` keep nothing on the device.
Bytes layers_activation_bytes(const Model& model, const Job& job, const Layout& layout,
                              const Stage& stage) {
  const auto kinds = layer_kinds(model, stage);
  const int layers = static_cast<int>(kinds.size());
  const int recomputed = fully_recomputed_layers(layout, layers);
  const int group = layers_per_checkpoint(layout);
  Bytes sum;
  for (int i = layout.cpu_offloading_num_layers; i < layers; ++i) {
    if (i < recomputed && i % group != 0) continue;
    const LayerKind kind = kinds[static_cast<std::size_t>(i)];
    sum += layer_activation_bytes(model, kind, job, layout, i < recomputed);
  }
  return sum;
}

}  // namespace

Bytes layer_input_bytes(const Model& model, const Job& job, const Layout& layout) {
  const double rows =
      static_cast<double>(layout.micro_batch_size * local_sequence_length(job, layout));
  const int sequence_shards = layout.sequence_parallel ? layout.tensor_parallel_size : 1;
  return bytes(rows * model.hidden_size * activation_bytes(job.precision) / sequence_shards);
}

Bytes layer_activation_bytes(const Model& model, LayerKind kind, const Job& job,
                             const Layout& layout, bool fully_recomputed) {
  if (fully_recomputed) return layer_input_bytes(model, job, layout);
  Bytes sum;
  for (const Operator& op : layer_operators(model, kind, job, layout)) {
    if (!is_recomputed(op, layout, false)) sum += op.saved;
  }
  return sum;
}

Bytes stage_activation_bytes(const Model& model, const Job& job, const Layout& layout,
                             const Stage& stage) {
  Bytes sum = layers_activation_bytes(model, job, layout, stage);
  for (const Chunk& chunk : stage.chunks) {
    if (chunk.embedding) sum += saved_bytes(embedding_operators(model, job, layout));
    if (chunk.head) sum += head_activation_bytes(model, job, layout);
  }
  return sum;
}

Bytes recompute_workspace_bytes(const Model& model, const Job& job, const Layout& layout,
                                const Stage& stage) {
  const bool full = layout.recompute_granularity == RecomputeGranularity::full;
  Bytes largest;
  for (const LayerKind& kind : distinct_kinds(model, stage)) {
    Bytes again;
    for (const Operator& op : layer_operators(model, kind, job, layout)) {
      if (is_recomputed(op, layout, full)) again += op.saved;
    }
    largest = std::max(largest, again);
  }
  return largest * std::min(layers_per_checkpoint(layout), std::max(1, stage.num_layers()));
}

Bytes offload_reload_bytes(const Model& model, const Job& job, const Layout& layout,
                           const Stage& stage) {
  if (layout.cpu_offloading_num_layers == 0) return {};
  Bytes largest;
  for (const LayerKind& kind : distinct_kinds(model, stage)) {
    largest = std::max(largest, layer_activation_bytes(model, kind, job, layout, false));
  }
  return largest;
}

Bytes logits_bytes(const Model& model, const Job& job, const Layout& layout, const Stage& stage) {
  if (!has_head(stage)) return {};
  Bytes sum;
  for (const Operator& op : head_operators(model, job, layout)) {
    if (op.module != Module::head) continue;
    sum += op.saved;
    if (op.kind == OperatorKind::gemm) {
      sum += bytes(static_cast<double>(op.m) * static_cast<double>(op.n) *
                   activation_bytes(job.precision));
    }
  }
  return sum * (1 + model.mtp_num_layers);
}

Bytes expert_dispatch_bytes(const Model& model, const Job& job, const Layout& layout,
                            const Stage& stage) {
  if (layout.expert_parallel_size * expert_tensor_size(layout) == 1) return {};
  for (const LayerKind& kind : layer_kinds(model, stage)) {
    if (!kind.mixture_of_experts) continue;
    for (const Operator& op : layer_operators(model, kind, job, layout)) {
      if (op.name == "experts.permute") return op.saved;
    }
  }
  return {};
}

}  // namespace meshwright
