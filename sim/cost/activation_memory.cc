// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/activation_memory.h"

#include <algorithm>

#include "sim/model/operator_builders.h"
#include "sim/model/operators.h"

namespace meshwright {
namespace {

Bytes saved_bytes(const std::vector<Operator>& operators) {
  Bytes sum;
  for (const Operator& op : operators) sum += op.saved;
  return sum;
}

bool is_row_parallel(const Operator& op) {
  return op.name == "attention.projection" || op.name == "mlp.fc2" ||
         op.name == "shared_expert.fc2";
}

// A linear's input and its output's gradient. Under sequence parallelism the side that is not split
// by columns or rows is held in pieces of the sequence.
Bytes weight_gradient_inputs(const Operator& op, const RankShape& shape) {
  const auto rows = static_cast<double>(op.batch) * static_cast<double>(op.m);
  const double piece = op.m == shape.rows ? static_cast<double>(shape.sequence_rows) /
                                                static_cast<double>(shape.rows)
                                          : 1.0;
  const double input = static_cast<double>(op.k) * (is_row_parallel(op) ? 1.0 : piece);
  const double output = static_cast<double>(op.n) * (is_row_parallel(op) ? piece : 1.0);
  return bytes(rows * (input + output) * shape.width);
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
  return model.mtp_num_layers *
         (layer_activation_bytes(model, kind, job, layout, mtp_is_recomputed(layout)) +
          saved_bytes(mtp_operators(model, job, layout)) +
          saved_bytes(embedding_operators(model, job, layout)));
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

Bytes layer_weight_gradient_bytes(const Model& model, LayerKind kind, const Job& job,
                                  const Layout& layout) {
  const RankShape shape = rank_shape(job, layout);
  Bytes sum;
  for (const Operator& op : layer_operators(model, kind, job, layout)) {
    if (op.has_weight) sum += weight_gradient_inputs(op, shape);
  }
  return sum;
}

std::vector<StageLayer> chunk_layers(const Model& model, const Layout& layout, const Stage& stage,
                                     std::size_t chunk) {
  int position = 0;  // in the stage
  for (std::size_t c = 0; c < chunk; ++c) position += stage.chunks[c].num_layers;
  const int recomputed = fully_recomputed_layers(layout, stage.num_layers());
  const int unit = layers_per_checkpoint(layout);
  std::vector<StageLayer> layers;
  for (int i = 0; i < stage.chunks[chunk].num_layers; ++i, ++position) {
    layers.push_back({layer_kind(model, stage.chunks[chunk].first_layer + i), position < recomputed,
                      position % unit == 0, position < layout.cpu_offloading_num_layers});
  }
  return layers;
}

Bytes kept_bytes(const StageLayer& layer, const Model& model, const Job& job,
                 const Layout& layout) {
  if (layer.offloaded) return {};
  if (layer.fully_recomputed && !layer.keeps_checkpoint) return {};
  return layer_activation_bytes(model, layer.kind, job, layout, layer.fully_recomputed);
}

LogitsBytes logits_bytes(const Model& model, const Job& job, const Layout& layout) {
  LogitsBytes sizes;
  for (const Operator& op : head_operators(model, job, layout)) {
    if (op.name == "cross_entropy") sizes.kept = op.saved;
    if (op.name != "logits") continue;
    const double width = activation_bytes(job.precision);
    sizes.gradient = bytes(static_cast<double>(op.m) * static_cast<double>(op.n) * width);
    sizes.weight_gradient = bytes(static_cast<double>(op.n) * static_cast<double>(op.k) * width);
    if (width < 4.0 && !job.cross_entropy_loss_fusion) sizes.beside = sizes.gradient;
  }
  return sizes;
}

Bytes head_activation_bytes(const Model& model, const Job& job, const Layout& layout) {
  Bytes sum;
  for (const Operator& op : head_operators(model, job, layout)) {
    if (op.module != Module::head) sum += op.saved;
  }
  return sum * (1 + model.mtp_num_layers) + mtp_activation_bytes(model, job, layout);
}

ChunkActivations chunk_activations(const Model& model, const Job& job, const Layout& layout,
                                   const Stage& stage, std::size_t chunk) {
  ChunkActivations sum;
  const auto layers = chunk_layers(model, layout, stage, chunk);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto end = layers.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(layers.begin(), end, layers[i]) != end) continue;  // counted with its first
    const auto alike = static_cast<double>(std::count(end, layers.end(), layers[i]));
    sum.whole += alike * kept_bytes(layers[i], model, job, layout);
    sum.weight_only += alike * layer_weight_gradient_bytes(model, layers[i].kind, job, layout);
  }
  if (stage.chunks[chunk].embedding) {
    sum.whole += saved_bytes(embedding_operators(model, job, layout));
  }
  if (stage.chunks[chunk].head) {
    const LogitsBytes logits = logits_bytes(model, job, layout);
    sum.whole += head_activation_bytes(model, job, layout);
    sum.logits = logits.kept * (1 + model.mtp_num_layers);
    sum.weight_only_logits = logits.gradient * (1 + model.mtp_num_layers);
    sum.weight_only += layer_input_bytes(model, job, layout) * (1 + model.mtp_num_layers);
  }
  return sum;
}

Bytes expert_dispatch_bytes(const Model& model, const Job& job, const Layout& layout,
                            const Stage& stage) {
  if (layout.expert_parallel_size * expert_tensor_size(layout) == 1) return {};
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      const LayerKind kind = layer_kind(model, chunk.first_layer + i);
      if (!kind.mixture_of_experts) continue;
      for (const Operator& op : layer_operators(model, kind, job, layout)) {
        if (op.name == "experts.permute") return op.saved;
      }
    }
  }
  return {};
}

}  // namespace meshwright
