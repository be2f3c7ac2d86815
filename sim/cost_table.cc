// SPDX-License-Identifier: Apache-2.0
#include "sim/cost_table.h"

#include <array>
#include <cstdint>
#include <unordered_map>

#include "sim/hardware/placement.h"

namespace meshwright {
namespace {

// Everything that chunk_cost reads: layouts that agree in it share the cost.
struct ChunkKey {
  std::array<std::int32_t, 20> fields{};
  bool operator==(const ChunkKey&) const = default;
};

struct ChunkKeyHash {
  std::size_t operator()(const ChunkKey& key) const {
    std::size_t hash = 1469598103934665603ULL;  // FNV-1a over words
    for (const std::int32_t field : key.fields) {
      hash = (hash ^ static_cast<std::uint32_t>(field)) * 1099511628211ULL;
    }
    return hash;
  }
};

std::int32_t packed(const Placement& placement) {
  return placement.num_nodes * 65536 + placement.ranks_per_node * 256 + placement.groups_per_node;
}

ChunkKey chunk_key(const Layout& l, const Chunk& chunk, int stage_layers, const Cluster& cluster) {
  const int recomputed = fully_recomputed_layers(l, stage_layers);
  const std::int32_t flags = (l.sequence_parallel ? 1 : 0) | (l.tp_comm_overlap ? 2 : 0) |
                             (chunk.embedding ? 4 : 0) | (chunk.head ? 8 : 0) |
                             (l.overlap_p2p_comm ? 16 : 0);
  return {{l.tensor_parallel_size,
           l.context_parallel_size,
           l.expert_parallel_size,
           expert_tensor_size(l),
           l.micro_batch_size,
           flags,
           static_cast<int>(l.recompute_granularity),
           static_cast<int>(l.recompute_modules),
           recomputed,
           stage_layers,
           static_cast<int>(l.cp_comm_type),
           l.hierarchical_context_parallel_size,
           chunk.first_layer,
           chunk.num_layers,
           packed(place(Group::tensor, l, cluster)),
           packed(place(Group::context, l, cluster)),
           packed(place(Group::expert, l, cluster)),
           packed(place(Group::expert_tensor, l, cluster)),
           0,
           0}};
}

}  // namespace

struct CostTable::Impl {
  const Model& model;
  const Cluster& cluster;
  const Job& job;
  bool uniform_layers = false;  // all layers are of one kind: where a chunk starts does not matter
  std::unordered_map<ChunkKey, ChunkCost, ChunkKeyHash> chunks;
};

CostTable::CostTable(const Model& model, const Cluster& cluster, const Job& job)
    : impl_(new Impl{model, cluster, job, true, {}}) {
  for (int i = 1; i < model.num_layers; ++i) {
    if (!(layer_kind(model, i) == layer_kind(model, 0))) impl_->uniform_layers = false;
  }
}
CostTable::~CostTable() = default;
CostTable::CostTable(CostTable&&) noexcept = default;
CostTable& CostTable::operator=(CostTable&&) noexcept = default;

const Model& CostTable::model() const { return impl_->model; }
const Cluster& CostTable::cluster() const { return impl_->cluster; }
const Job& CostTable::job() const { return impl_->job; }

const ChunkCost& CostTable::chunk(const Layout& layout, const Chunk& chunk, int stage_layers) {
  Chunk normal = chunk;
  if (impl_->uniform_layers) normal.first_layer = 0;
  const ChunkKey key = chunk_key(layout, normal, stage_layers, impl_->cluster);
  const auto found = impl_->chunks.find(key);
  if (found != impl_->chunks.end()) return found->second;
  return impl_->chunks
      .emplace(key,
               chunk_cost(impl_->model, impl_->cluster, impl_->job, layout, normal, stage_layers))
      .first->second;
}

}  // namespace meshwright
