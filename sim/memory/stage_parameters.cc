// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/stage_parameters.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/block/parameters.h"
#include "sim/layout/pipeline_shape.h"

namespace meshwright {
namespace {

void add_layer(StageParameters& sum, const LayerParameters& layer, const Layout& layout) {
  const double experts = double(layout.expert_parallel_size) * expert_tensor_size(layout);
  sum.dense += static_cast<double>(layer.sharded) / layout.tensor_parallel_size +
               static_cast<double>(layer.replicated);
  sum.expert += static_cast<double>(layer.expert) / experts;
}

// The copy of the token embedding that a tied head or multi-token prediction needs on a stage
// without it (Megatron-LM, LanguageModule: the copies' gradients are all-reduced over the embedding
// group).
double embedding_copy(const Model& model, const Stage& stage, std::int64_t vocab_rows) {
  if (stage.has_embedding() || model.vocab_size == 0) return 0.0;
  if (model.mtp_num_layers > 0 && stage.has_mtp()) {
    return static_cast<double>(embedding_parameters(model, vocab_rows));
  }
  const bool tied = model.tied_embeddings && stage.has_head();
  return tied ? static_cast<double>(vocab_rows) * model.hidden_size : 0.0;
}

// Parameters of layers, counted once for each kind.
class LayersByKind {
 public:
  explicit LayersByKind(const Model& model) : model_(model) {}

  const LayerParameters& parameters(int layer) {
    const LayerKind kind = layer_kind(model_, layer);
    std::optional<LayerParameters>& known = known_[kind_index(kind)];
    if (!known) known = layer_parameters(model_, kind);
    return *known;
  }

 private:
  const Model& model_;
  std::array<std::optional<LayerParameters>, kLayerKinds> known_;
};

}  // namespace

std::int64_t local_vocab_rows(const Model& model, const Numerics& numerics, const Layout& layout) {
  return padded_vocab_size(model, numerics.make_vocab_size_divisible_by,
                           layout.tensor_parallel_size) /
         layout.tensor_parallel_size;
}

StageParameters stage_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                                 const Stage& stage) {
  const std::int64_t vocab_rows = local_vocab_rows(model, numerics, layout);
  LayersByKind layers(model);
  StageParameters sum;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      add_layer(sum, layers.parameters(chunk.first_layer + i), layout);
    }
    if (chunk.embedding) sum.dense += static_cast<double>(embedding_parameters(model, vocab_rows));
    const auto norm = static_cast<double>(head_parameters(model, 0));
    if (has_final_norm(model, chunk)) sum.dense += norm;
    if (chunk.head) sum.dense += static_cast<double>(head_parameters(model, vocab_rows)) - norm;
    for (int i = 0; chunk.mtp && i < model.mtp_num_layers; ++i) {
      add_layer(sum, mtp_layer_parameters(model), layout);
    }
  }
  sum.dense += embedding_copy(model, stage, vocab_rows);
  return sum;
}

double largest_layer_parameters(const Model& model, const Layout& layout, const Stage& stage) {
  LayersByKind layers(model);
  double largest = 0.0;
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) {
      StageParameters unit;
      add_layer(unit, layers.parameters(chunk.first_layer + i), layout);
      largest = std::max(largest, unit.dense + unit.expert);
    }
  }
  return largest;
}

}  // namespace meshwright
