// SPDX-License-Identifier: Apache-2.0
#include "sim/block/parameters.h"

#include <algorithm>

#include "sim/block/layer.h"
#include "sim/block/recurrent.h"

namespace meshwright {
namespace {

void add_part(LayerParameters& sum, const LayerPart& part) {
  if (part.experts > 0) {
    sum.expert += part.weights() + part.experts * (part.cut_numbers + part.whole_numbers);
    return;
  }
  (part.split == Split::whole ? sum.replicated : sum.sharded) += part.weights();
  sum.sharded += part.cut_numbers;
  sum.replicated += part.whole_numbers;
}

// The same as weights and numbers, which may be too many for an integer.
double countable_numbers(const LayerParts& parts) {
  double sum = 0.0;
  for (const LayerPart& part : parts) {
    const double weights = static_cast<double>(part.inputs) * static_cast<double>(part.outputs);
    sum += static_cast<double>(part.copies()) *
           (weights + static_cast<double>(part.cut_numbers + part.whole_numbers));
  }
  return sum;
}

}  // namespace

LayerParameters layer_parameters(const Model& model, LayerKind kind) {
  LayerParameters count;
  for (const LayerPart& part : layer_parts(model, kind)) add_part(count, part);
  return count;
}

std::int64_t embedding_parameters(const Model& model, std::int64_t vocab_rows) {
  if (model.vocab_size == 0) return 0;
  const std::int64_t h = model.hidden_size;
  std::int64_t count = vocab_rows * h;
  if (model.position_embedding == PositionEmbedding::learned) {
    count += model.max_position_embeddings * h;
  }
  if (model.embedding_layer_norm) count += norm_numbers(model, h);
  return count;
}

std::int64_t head_parameters(const Model& model, std::int64_t vocab_rows) {
  if (model.vocab_size == 0) return 0;
  const std::int64_t h = model.hidden_size;
  const LayerPart streams = final_streams(model);
  return norm_numbers(model, h) + streams.weights() + streams.whole_numbers +
         (model.tied_embeddings ? 0 : vocab_rows * h);
}

LayerParameters mtp_layer_parameters(const Model& model) {
  LayerParameters count = layer_parameters(model, layer_kind(model, model.num_layers - 1));
  add_part(count, mtp_projection(model));
  return count;
}

bool is_countable(const Model& model) {
  double layer = 0.0;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    const LayerKind kind = layer_kind_of(k);
    const bool possible = (!kind.mixture_of_experts || model.moe) &&
                          (!kind.linear_attention || recurrent_mixer(model));
    if (possible) layer = std::max(layer, countable_numbers(layer_parts(model, kind)));
  }
  const double rows = 2.0 * model.vocab_size + model.max_position_embeddings;
  const double layers = static_cast<double>(model.num_layers) + model.mtp_num_layers;
  return layers * (layer + countable_numbers({mtp_projection(model)})) + rows * model.hidden_size <
         1e18;
}

std::int64_t total_parameters(const Model& model) {
  std::int64_t count =
      embedding_parameters(model, model.vocab_size) + head_parameters(model, model.vocab_size);
  for (int i = 0; i < model.num_layers; ++i) {
    count += layer_parameters(model, layer_kind(model, i)).total();
  }
  return count;
}

std::int64_t active_parameters(const Model& model) {
  std::int64_t count = total_parameters(model);
  if (!model.moe) return count;
  const std::int64_t experts = model.moe->num_moe_experts;
  const std::int64_t idle = experts - model.moe->moe_router_topk;
  for (int i = 0; i < model.num_layers; ++i) {
    const LayerKind kind = layer_kind(model, i);
    if (kind.mixture_of_experts) count -= layer_parameters(model, kind).expert / experts * idle;
  }
  return count;
}

std::int64_t padded_vocab_size(const Model& model, int divisible_by, int tensor_parallel_size) {
  const std::int64_t multiple = std::int64_t{divisible_by} * tensor_parallel_size;
  return (model.vocab_size + multiple - 1) / multiple * multiple;
}

}  // namespace meshwright
