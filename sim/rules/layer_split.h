// SPDX-License-Identifier: Apache-2.0
// How the layers divide over stages: those with a number of their own, and the rest.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/layout/stages.h"

namespace meshwright {

struct LayerSplit {
  int set_stages = 0;   // stages whose number of layers is set
  int even_stages = 0;  // stages that share the other layers evenly
  int even_layers = 0;  // with the stand-ins for embedding and loss
  [[nodiscard]] bool leaves_enough() const { return even_stages > 0 && even_layers >= even_stages; }
};

// For Megatron-LM's engine.
inline LayerSplit layer_split(const Model& model, const Layout& l) {
  const int first = l.num_layers_in_first_pipeline_stage;
  const int last = l.num_layers_in_last_pipeline_stage;
  LayerSplit split;
  split.set_stages = (first > 0 ? 1 : 0) + (last > 0 ? 1 : 0);
  split.even_stages = l.pipeline_parallel_size - split.set_stages;
  split.even_layers = model.num_layers + (l.account_for_embedding_in_pipeline_split ? 1 : 0) +
                      (l.account_for_loss_in_pipeline_split ? 1 : 0) - first - last;
  return split;
}

// Layers of the smallest stage of pipeline_layout that has any. Rare in a search, so it is not
// inlined.
int layers_of_smallest_listed_stage(const Layout& l);

inline bool counts_embedding_or_loss(const Layout& l) {
  return l.account_for_embedding_in_pipeline_split || l.account_for_loss_in_pipeline_split;
}

inline int layers_of_smallest_stage(const Model& model, const Layout& l) {
  if (l.pipeline_layout) return layers_of_smallest_listed_stage(l);
  if (l.pipeline_engine == PipelineEngine::nanotron) {
    const std::vector<int> layers = layers_by_cost(model, l.pipeline_parallel_size);
    return *std::min_element(layers.begin(), layers.end());
  }
  const LayerSplit split = layer_split(model, l);
  const int first = l.num_layers_in_first_pipeline_stage;
  const int last = l.num_layers_in_last_pipeline_stage;
  int smallest = split.even_stages > 0 ? split.even_layers / split.even_stages : model.num_layers;
  if (counts_embedding_or_loss(l)) --smallest;
  if (first > 0) smallest = std::min(smallest, first);
  if (last > 0) smallest = std::min(smallest, last);
  return smallest;
}

}  // namespace meshwright
