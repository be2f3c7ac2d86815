// SPDX-License-Identifier: Apache-2.0
#include "sim/step/cost_table.h"

#include <cstdint>
#include <deque>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "sim/hardware/placement.h"

namespace meshwright {
namespace {

// What the work of a layer, embedding or head reads: layouts that agree in it share the work.
struct UnitKey {
  Layout layout;                       // what a unit does not read has its default
  std::array<Placement, 4> placement;  // this stands for rank order, data and pipeline size
  int unit = 0;                        // layer: kind_index; then embedding and head
  bool operator==(const UnitKey&) const = default;
};
constexpr int kEmbedding = kLayerKinds;
constexpr int kHead = kLayerKinds + 1;

Layout read_by_units(const Layout& layout) {
  Layout read = layout;
  const Layout defaults;
  read.pipeline_parallel_size = defaults.pipeline_parallel_size;
  read.virtual_pipeline_parallel_size = defaults.virtual_pipeline_parallel_size;
  read.data_parallel_size = defaults.data_parallel_size;
  read.expert_tensor_parallel_size = expert_tensor_size(layout);
  read.schedule = defaults.schedule;
  read.pipeline_engine = defaults.pipeline_engine;
  read.num_layers_in_first_pipeline_stage = 0;
  read.num_layers_in_last_pipeline_stage = 0;
  read.account_for_embedding_in_pipeline_split = false;
  read.account_for_loss_in_pipeline_split = false;
  read.scatter_gather_p2p = false;
  read.zero_stage = 0;
  read.zero_shard_size = 0;
  read.recompute_method = defaults.recompute_method;
  read.recompute_num_layers = 0;
  if (read.recompute_granularity != RecomputeGranularity::selective) {
    read.recompute_modules = defaults.recompute_modules;
  }
  read.overlap_grad_reduce = false;
  read.overlap_param_gather = false;
  read.overlap_p2p_comm = false;
  read.optimizer_offload = false;
  read.cpu_offloading_num_layers = 0;
  read.rank_order = defaults.rank_order;
  return read;
}

struct UnitKeyHash {
  std::size_t operator()(const UnitKey& key) const {
    const Layout& l = key.layout;
    std::size_t hash = 1469598103934665603ULL;  // FNV-1a over words
    const auto mix = [&hash](int field) {
      hash = (hash ^ static_cast<std::uint32_t>(field)) * 1099511628211ULL;
    };
    mix(l.tensor_parallel_size * 64 + l.context_parallel_size);
    mix(l.expert_parallel_size * 64 + l.expert_tensor_parallel_size);
    mix(l.micro_batch_size);
    mix(static_cast<int>(l.recompute_granularity) * 256 + l.recompute_modules);
    mix((l.sequence_parallel ? 1 : 0) + (l.tp_comm_overlap ? 2 : 0) +
        4 * static_cast<int>(l.cp_comm_type));
    mix(key.unit);
    for (const Placement& p : key.placement) {
      mix(p.num_nodes * 65536 + p.ranks_per_node * 256 + p.groups_per_node);
    }
    return hash ^ (hash >> 29U);
  }
};

// Of one stage, ungrouped and by the groupings that were asked for.
struct StageMoments {
  std::vector<Moment> all;
  std::deque<std::pair<std::vector<int>, std::vector<Moment>>> grouped;
};

}  // namespace

UnitsOf<Seconds> bare(const Units& units) {
  UnitsOf<Seconds> result;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    result.kept[k] = bare(units.kept[k]);
    result.recomputed[k] = bare(units.recomputed[k]);
  }
  result.embedding = bare(units.embedding);
  result.head = bare(units.head);
  return result;
}

struct CostTable::Impl {
  const Model& model;
  const Cluster& cluster;
  const Job& job;
  std::array<bool, kLayerKinds> has_kind{};
  std::unordered_map<UnitKey, ChunkWork, UnitKeyHash> works;
  std::unordered_map<UnitKey, UnitBytes, UnitKeyHash> bytes;
  std::map<std::array<int, 5>, StageMoments> moments;

  const ChunkWork& work(UnitKey& key, int unit, RecomputeGranularity granularity,
                        const Layout& layout) {
    key.unit = unit;
    key.layout.recompute_granularity = granularity;
    const auto found = works.find(key);
    if (found != works.end()) return found->second;
    return works.emplace(key, computed(unit, granularity, layout)).first->second;
  }

  [[nodiscard]] ChunkWork computed(int unit, RecomputeGranularity granularity,
                                   const Layout& layout) const {
    if (unit == kEmbedding) return embedding_work(model, cluster, job, layout);
    if (unit == kHead) return head_work(model, cluster, job, layout);
    return layer_work(model, cluster, job, layout, layer_kind_of(static_cast<std::size_t>(unit)),
                      granularity == RecomputeGranularity::full);
  }
};

CostTable::CostTable(const Model& model, const Cluster& cluster, const Job& job)
    : impl_(new Impl{model, cluster, job, {}, {}, {}, {}}) {
  for (int i = 0; i < model.num_layers; ++i) {
    impl_->has_kind[kind_index(layer_kind(model, i))] = true;
  }
}
CostTable::~CostTable() = default;
CostTable::CostTable(CostTable&&) noexcept = default;
CostTable& CostTable::operator=(CostTable&&) noexcept = default;

const Model& CostTable::model() const { return impl_->model; }
const Cluster& CostTable::cluster() const { return impl_->cluster; }
const Job& CostTable::job() const { return impl_->job; }

Units CostTable::units(const Layout& layout) {
  const Cluster& cluster = impl_->cluster;
  UnitKey key{read_by_units(layout),
              {place(Group::tensor, layout, cluster), place(Group::context, layout, cluster),
               place(Group::expert, layout, cluster), place(Group::expert_tensor, layout, cluster)},
              0};
  const RecomputeGranularity asked = layout.recompute_granularity;
  const bool full = asked == RecomputeGranularity::full;
  const RecomputeGranularity kept = full ? RecomputeGranularity::none : asked;
  Units units;
  for (std::size_t k = 0; k < kLayerKinds; ++k) {
    if (!impl_->has_kind[k]) continue;
    const int unit = static_cast<int>(k);
    units.kept[k] = impl_->work(key, unit, kept, layout);
    if (full) units.recomputed[k] = impl_->work(key, unit, asked, layout);
  }
  units.embedding = impl_->work(key, kEmbedding, kept, layout);
  units.head = impl_->work(key, kHead, asked, layout);  // it holds multi-token prediction's layers
  return units;
}

const UnitBytes& CostTable::unit_bytes(const Layout& layout) {
  UnitKey key{read_by_units(layout), {}, 0};
  key.layout.tp_comm_overlap = false;
  const auto found = impl_->bytes.find(key);
  if (found != impl_->bytes.end()) return found->second;
  return impl_->bytes.emplace(key, meshwright::unit_bytes(impl_->model, impl_->job, layout))
      .first->second;
}

const std::vector<Moment>& CostTable::moments(const Layout& layout,
                                              const std::vector<int>& group_sizes, int stage) {
  const int stages = layout.pipeline_parallel_size;
  const int micro_batches = representative_micro_batches(
      layout.schedule, stages, num_micro_batches(impl_->job.global_batch_size, layout));
  const int chunks = std::accumulate(group_sizes.begin(), group_sizes.end(), 0);
  const auto [found, is_new] = impl_->moments.try_emplace(
      {static_cast<int>(layout.schedule), stages, micro_batches, chunks, stage});
  StageMoments& moments = found->second;
  if (is_new) {
    moments.all = schedule_moments(layout.schedule, stages, micro_batches, chunks, stage);
  }
  for (const auto& [sizes, grouped] : moments.grouped) {
    if (sizes == group_sizes) return grouped;
  }
  return moments.grouped.emplace_back(group_sizes, grouped_moments(moments.all, group_sizes))
      .second;
}

}  // namespace meshwright
