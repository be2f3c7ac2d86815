// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/stage_parameters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "sim/block/layer.h"
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

// Tensors alike: vectors have one column. `experts` are stacked in one tensor.
struct Weight {
  double rows = 0, columns = 1;
  double experts = 0;
  double count = 1;
};

// Weights of a part's product: query, key and value, which spmd_types keeps in one; gate and up of
// a gated MLP.
std::vector<double> rows_of(const Model& model, const LayerPart& part, const Layout& layout,
                            int ranks) {
  const double rows =
      static_cast<double>(part.outputs) / (part.split == Split::columns ? ranks : 1);
  if (part.groups > 0 && layout.tensor_engine != TensorEngine::spmd_types) {
    const double key = static_cast<double>(part.group_outputs) / 2.0 / ranks;
    return {rows - 2.0 * key, key, key};
  }
  const bool joint = part.names != nullptr && part.names->product.ends_with("fc1");
  if (joint && is_gated(model.activation)) return {rows / 2.0, rows / 2.0};
  return {rows};
}

template <typename Visit>
void visit_part(const Model& model, const LayerPart& part, const Layout& layout,
                const Visit& visit) {
  const int ranks = part.experts > 0 ? expert_tensor_size(layout) : layout.tensor_parallel_size;
  const double experts = static_cast<double>(part.experts) / layout.expert_parallel_size;
  const double columns = static_cast<double>(part.inputs) / (part.split == Split::rows ? ranks : 1);
  if (part.inputs > 0) {
    for (const double rows : rows_of(model, part, layout, ranks)) visit({rows, columns, experts});
  }
  if (part.cut_numbers > 0) visit({static_cast<double>(part.cut_numbers) / ranks, 1, experts});
  if (part.whole_numbers == 0) return;
  const double vectors = vector_count(model, part);
  visit({static_cast<double>(part.whole_numbers) / vectors, 1, experts, vectors});
}

// The tensors that a tensor rank of a stage holds.
template <typename Visit>
void visit_weights(const Model& model, const Numerics& numerics, const Layout& layout,
                   const Stage& stage, const Visit& visit) {
  const auto parts = [&](int layer) {
    for (const LayerPart& part : layer_parts(model, layer_kind(model, layer))) {
      visit_part(model, part, layout, visit);
    }
  };
  const Weight table{static_cast<double>(local_vocab_rows(model, numerics, layout)),
                     static_cast<double>(model.hidden_size)};
  const double norm = static_cast<double>(norm_numbers(model, model.hidden_size));
  for (const Chunk& chunk : stage.chunks) {
    for (int i = 0; i < chunk.num_layers; ++i) parts(chunk.first_layer + i);
    for (int i = 0; chunk.mtp && i < model.mtp_num_layers; ++i) {
      parts(model.num_layers - 1);
      visit_part(model, mtp_projection(model), layout, visit);
    }
    if (model.vocab_size == 0) continue;
    if (chunk.embedding) {
      visit(table);
      if (model.position_embedding == PositionEmbedding::learned) {
        visit({static_cast<double>(model.max_position_embeddings), table.columns});
      }
      if (model.embedding_layer_norm) visit({norm});
    }
    if (has_final_norm(model, chunk) && norm > 0) visit({norm});
    if (has_final_norm(model, chunk)) visit_part(model, final_streams(model), layout, visit);
    if (chunk.head && (!model.tied_embeddings || !stage.has_embedding())) visit(table);
  }
}

double padded(double rows, int ranks) { return std::ceil(rows / ranks) * ranks; }

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

StageParameters padded_parameters(const Model& model, const Numerics& numerics,
                                  const Layout& layout, const Stage& stage) {
  const int dense = zero_shard_group_size(layout);
  const int expert = experts_in_unit(layout) ? dense : expert_shard_group_size(layout);
  StageParameters sum;
  visit_weights(model, numerics, layout, stage, [&](const Weight& w) {
    if (w.experts == 0) {
      sum.dense += w.count * padded(w.rows, dense) * w.columns;
      return;
    }
    const double numbers = w.experts < expert ? w.experts * padded(w.rows, expert)
                                              : padded(w.experts, expert) * w.rows;
    (experts_in_unit(layout) ? sum.dense : sum.expert) += w.count * numbers * w.columns;
  });
  return sum;
}

StageParameters weight_tensors(const Model& model, const Numerics& numerics, const Layout& layout,
                               const Stage& stage) {
  StageParameters sum;
  visit_weights(model, numerics, layout, stage, [&](const Weight& w) {
    const bool apart = w.experts > 0 && layout.expert_parallel_size > 1;
    (apart ? sum.expert : sum.dense) += w.count;
  });
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
