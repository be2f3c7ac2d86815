// SPDX-License-Identifier: Apache-2.0
#include "sim/step/cost_table.h"

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>

#include "sim/base/hash.h"
#include "sim/hardware/hops.h"
#include "sim/layout/layout_key.h"

namespace meshwright {
namespace {

// Placement stands for rank order, data and pipeline size, which nothing else here reads.
using UnitPlacement = std::array<Placement, 5>;
struct UnitKey {
  LayoutKey<KeyScope::any_layout, CostPart::units> read;
  UnitPlacement placement;
  int unit = 0;  // layer: kind_index; then embedding, head and multi-token prediction
  bool operator==(const UnitKey&) const = default;
};
constexpr int kEmbedding = kLayerKinds;
constexpr int kHead = kLayerKinds + 1;
constexpr int kMtp = kLayerKinds + 2;

struct UnitKeyHash {
  std::size_t operator()(const UnitKey& key) const {
    std::uint64_t hash = mixed(key.read.hash(), static_cast<std::uint32_t>(key.unit));
    for (const Placement& p : key.placement) {
      hash = mixed(hash, static_cast<std::uint32_t>(p.num_nodes * 65536 + p.ranks_per_node * 256 +
                                                    p.groups_per_node));
    }
    return finished(hash);
  }
};
using BytesKey = LayoutKey<KeyScope::any_layout, CostPart::unit_bytes>;

// Layouts that state the same in two ways share their units. Only the costs of multi-token
// prediction depend on the method of full recompute.
Layout canonical(Layout layout, const Model& model) {
  layout.expert_tensor_parallel_size = expert_tensor_size(layout);
  if (layout.recompute_granularity != RecomputeGranularity::selective) {
    layout.recompute_modules = Layout{}.recompute_modules;
  }
  if (layout.recompute_granularity != RecomputeGranularity::full || model.mtp_num_layers == 0) {
    layout.recompute_method = Layout{}.recompute_method;
  }
  return layout;
}

// Schedule, stages, micro-batches, chunks of a stage, whether passes are paired, stage.
using StatesKey = std::array<int, 6>;
struct StatesKeyHash {
  std::size_t operator()(const StatesKey& key) const {
    std::uint64_t hash = kHashStart;
    for (const int number : key) hash = mixed(hash, static_cast<std::uint32_t>(number));
    return finished(hash);
  }
};
// States of one stage, whole and split by the groupings that were asked for.
struct StageStates {
  std::vector<InFlightState> all;
  std::deque<std::pair<std::vector<int>, std::vector<InFlightState>>> grouped;
};

}  // namespace

struct CostTable::Impl {
  Scenario scenario;
  std::array<bool, kLayerKinds> has_kind{};
  KernelCosts kernels;
  std::unordered_map<UnitKey, UnitCost, UnitKeyHash> unit_costs;
  std::unordered_map<BytesKey, UnitBytes, LayoutKeyHash> bytes;
  std::unordered_map<StatesKey, StageStates, StatesKeyHash> states;

  const UnitCost* unit_cost(const UnitPlacement& placement, int unit, const Layout& layout) {
    const UnitKey key{LayoutKey<KeyScope::any_layout, CostPart::units>(layout), placement, unit};
    const auto found = unit_costs.find(key);
    if (found != unit_costs.end()) return &found->second;
    return &unit_costs.emplace(key, computed(unit, layout)).first->second;
  }

  UnitCost computed(int unit, const Layout& layout) {
    if (unit == kEmbedding) return embedding_cost(scenario, layout, &kernels);
    if (unit == kHead) return head_cost(scenario, layout, &kernels);
    if (unit == kMtp) return mtp_cost(scenario, layout, &kernels);
    return layer_cost(scenario, layout, layer_kind_of(static_cast<std::size_t>(unit)),
                      layout.recompute_granularity == RecomputeGranularity::full, &kernels);
  }
};

CostTable::CostTable(Scenario scenario) : impl_(new Impl{std::move(scenario), {}, {}, {}, {}, {}}) {
  const Model& model = impl_->scenario.model;
  const Cluster& cluster = impl_->scenario.cluster;
  impl_->scenario.job =
      job_under(job_on(impl_->scenario.job, only_device(cluster)), cluster.framework);
  for (int i = 0; i < model.num_layers; ++i) {
    impl_->has_kind[kind_index(layer_kind(model, i))] = true;
  }
}
CostTable::~CostTable() = default;
CostTable::CostTable(CostTable&&) noexcept = default;
CostTable& CostTable::operator=(CostTable&&) noexcept = default;

const Scenario& CostTable::scenario() const { return impl_->scenario; }

Units CostTable::units(const Layout& layout) {
  const Cluster& cluster = impl_->scenario.cluster;
  const UnitPlacement placement{
      place(Group::tensor, layout, cluster), place(Group::context, layout, cluster),
      place_context_hop(layout, cluster), place(Group::expert, layout, cluster),
      place(Group::expert_tensor, layout, cluster)};
  const Layout asked = canonical(layout, impl_->scenario.model);
  const bool full = asked.recompute_granularity == RecomputeGranularity::full;
  Layout kept = asked;
  if (full) {
    kept.recompute_granularity = RecomputeGranularity::none;
    kept.recompute_method = Layout{}.recompute_method;
  }
  Units units;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if (!impl_->has_kind[k]) continue;
    const int unit = static_cast<int>(k);
    units.kept[k] = impl_->unit_cost(placement, unit, kept);
    if (full) units.recomputed[k] = impl_->unit_cost(placement, unit, asked);
  }
  units.embedding = impl_->unit_cost(placement, kEmbedding, kept);
  units.head = impl_->unit_cost(placement, kHead, kept);
  if (impl_->scenario.model.mtp_num_layers > 0)
    units.mtp = impl_->unit_cost(placement, kMtp, asked);
  return units;
}

const UnitBytes& CostTable::unit_bytes(const Layout& layout) {
  const BytesKey key(canonical(layout, impl_->scenario.model));
  const auto found = impl_->bytes.find(key);
  if (found != impl_->bytes.end()) return found->second;
  return impl_->bytes
      .emplace(key, meshwright::unit_bytes(impl_->scenario.model, impl_->scenario.job, layout))
      .first->second;
}

const std::vector<InFlightState>& CostTable::in_flight_states(const Layout& layout,
                                                              const std::vector<int>& group_sizes,
                                                              int stage) {
  PipelineSizes sizes = pipeline_sizes(layout, impl_->scenario.job.global_batch_size);
  sizes.micro_batches =
      representative_micro_batches(layout.schedule, sizes.stages, sizes.micro_batches);
  const auto [found, is_new] = impl_->states.try_emplace(
      StatesKey{static_cast<int>(layout.schedule), sizes.stages, sizes.micro_batches, sizes.chunks,
                sizes.more_ahead(), stage});
  StageStates& states = found->second;
  if (is_new) states.all = meshwright::in_flight_states(layout.schedule, sizes, stage);
  for (const auto& [grouping, grouped] : states.grouped) {
    if (grouping == group_sizes) return grouped;
  }
  return states.grouped.emplace_back(group_sizes, grouped_states(states.all, group_sizes)).second;
}

}  // namespace meshwright
