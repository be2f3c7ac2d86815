// SPDX-License-Identifier: Apache-2.0
#include "planner/search/balanced_layouts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "sim/schedule/traits.h"
#include "sim/step/cost_table.h"

namespace meshwright::planner {
namespace {

Seconds seconds_of(const UnitCost& unit) {
  return unit.forward.time + unit.backward_input.time + unit.backward_weight.time +
         unit.forward_communication.total() + unit.backward_communication.total();
}

// Experts spread as recipes do: over no more ranks than 64.
Layout usual_layout(const Model& model, const Cluster& cluster) {
  constexpr int kMostExpertRanks = 64;
  Layout layout;
  layout.data_parallel_size = cluster.num_gpus();
  if (!model.moe) return layout;
  for (int ranks = 2; ranks <= std::min(kMostExpertRanks, cluster.num_gpus()); ranks *= 2) {
    const bool divides = model.moe->num_moe_experts % ranks == 0 && cluster.num_gpus() % ranks == 0;
    if (divides) layout.expert_parallel_size = ranks;
  }
  return layout;
}

struct Chunks {
  int stages = 1, per_stage = 1;
  [[nodiscard]] std::size_t all() const {
    return static_cast<std::size_t>(stages) * static_cast<std::size_t>(per_stage);
  }
};

using Layers = std::vector<int>;  // by chunk

// Alike chunks; what they are too many for is taken from the last, then from the first, then from
// the others, the last of them first.
Layers with_short_ends(const Model& model, const PartWeights& weights, const Chunks& chunks) {
  const auto all = static_cast<int>(chunks.all());
  const int ends = static_cast<int>(weights.mtp + weights.loss);
  const int alike = (model.num_layers + ends + all - 1) / all;
  int too_many = alike * all - model.num_layers;
  Layers layers(chunks.all(), alike);
  const int from_last = std::min(too_many, alike);
  layers.back() -= from_last;
  too_many -= from_last;
  if (too_many > 0) --layers.front(), --too_many;
  for (std::size_t c = chunks.all() - 1; too_many > 0; --too_many) {
    c = c <= 1 ? chunks.all() - 2 : c - 1;
    --layers[c];
  }
  return layers;
}

// Weight of a chunk's parts besides layers, and of the difference between its layers and the first
// kind.
std::vector<double> extras(const PartWeights& weights, const Layers& layers) {
  std::vector<double> sum(layers.size());
  sum.front() += weights.embedding;
  sum.back() += weights.mtp + weights.loss;
  int left = weights.num_first_layers;
  for (std::size_t c = 0; c < layers.size() && left > 0; ++c) {
    const int here = std::min(left, layers[c]);
    sum[c] += here * (weights.first_layers - 1.0);
    left -= here;
  }
  return sum;
}

// Each layer to the stage with the least load, there to the chunk with the least; of equals the
// last, which holds activations for the shortest time.
Layers filled(int num_layers, const Chunks& chunks, const std::vector<double>& extra,
              const std::vector<double>& layer_weight) {
  const auto stages = static_cast<std::size_t>(chunks.stages);
  std::vector<double> stage_load(stages);
  for (std::size_t c = 0; c < extra.size(); ++c) stage_load[c % stages] += extra[c];
  std::vector<double> chunk_load = extra;
  Layers layers(chunks.all());
  for (int i = 0; i < num_layers; ++i) {
    std::size_t stage = stages - 1;
    for (std::size_t s = stages - 1; s-- > 0;) {
      if (stage_load[s] + layer_weight[s] < stage_load[stage] + layer_weight[stage]) stage = s;
    }
    std::size_t chunk = extra.size() - stages + stage;
    for (std::size_t c = chunk; c >= stages;) {
      c -= stages;
      if (chunk_load[c] < chunk_load[chunk]) chunk = c;
    }
    stage_load[stage] += layer_weight[stage];
    chunk_load[chunk] += 1.0;
    ++layers[chunk];
  }
  return layers;
}

// Balances the layers. The chunks must be known to tell which of them hold the first layers.
Layers balanced(const Model& model, const PartWeights& weights, const Chunks& chunks,
                const std::vector<double>& layer_weight) {
  constexpr int kRounds = 3;
  Layers layers(chunks.all());
  layers.front() = model.num_layers;
  for (int round = 0; round < kRounds; ++round) {
    layers = filled(model.num_layers, chunks, extras(weights, layers), layer_weight);
  }
  return layers;
}

// Half of the first stage's layer are states, half activations of the micro-batches that it holds.
std::vector<double> memory_weights(const Chunks& chunks) {
  const ScheduleTraits& schedule = traits(implied_schedule(chunks.per_stage));
  const PipelineSizes sizes{chunks.stages, 2 * chunks.stages, chunks.per_stage};
  std::vector<double> weights;
  for (int s = 0; s < chunks.stages; ++s) {
    weights.push_back(1.0 + static_cast<double>(schedule.peak(sizes, s)) / schedule.peak(sizes, 0));
  }
  return weights;
}

PipelineLayout list_of(const Model& model, const Layers& layers) {
  std::vector<ChunkItems> chunks;
  for (const int n : layers) chunks.push_back({false, n, 0, false});
  chunks.front().embedding = true;
  chunks.back().mtp_num_layers = model.mtp_num_layers;
  chunks.back().loss = true;
  return PipelineLayout::of(std::move(chunks));
}

}  // namespace

PartWeights time_weights(const Scenario& scenario) {
  CostTable table(scenario);
  const Units units = table.units(usual_layout(scenario.model, scenario.cluster));
  const LayerKind usual = layer_kind(scenario.model, scenario.model.num_layers - 1);
  const LayerKind first = layer_kind(scenario.model, 0);
  const auto weight = [&](const UnitCost* unit) {
    return unit == nullptr ? 0.0 : seconds_of(*unit) / seconds_of(*units.kept[kind_index(usual)]);
  };
  PartWeights weights;
  weights.embedding = weight(units.embedding);
  weights.loss = weight(units.head);
  weights.mtp = weight(units.mtp);
  weights.first_layers = weight(units.kept[kind_index(first)]);
  const bool another = first.mixture_of_experts != usual.mixture_of_experts;
  while (another && layer_kind(scenario.model, weights.num_first_layers).mixture_of_experts ==
                        first.mixture_of_experts) {
    ++weights.num_first_layers;
  }
  return weights;
}

std::vector<PipelineLayout> balanced_layouts(const Model& model, const PartWeights& weights,
                                             int stages, int fewest_chunks) {
  std::vector<PipelineLayout> found;
  const auto add = [&](const Layers& layers) {
    const PipelineLayout list = list_of(model, layers);
    if (std::find(found.begin(), found.end(), list) == found.end()) found.push_back(list);
  };
  const std::vector<double> alike(static_cast<std::size_t>(stages), 1.0);
  for (const int per_stage : {1, 2, 4}) {
    const Chunks chunks{stages, per_stage};
    if (per_stage < fewest_chunks) continue;
    if (chunks.all() > static_cast<std::size_t>(model.num_layers)) break;
    add(with_short_ends(model, weights, chunks));
    add(balanced(model, weights, chunks, alike));
    if (per_stage == 1) add(balanced(model, weights, chunks, memory_weights(chunks)));
  }
  return found;
}

}  // namespace meshwright::planner
