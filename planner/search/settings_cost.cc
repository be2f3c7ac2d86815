// SPDX-License-Identifier: Apache-2.0
#include "planner/search/settings_cost.h"

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>

#include "sim/memory/memory.h"
#include "sim/schedule/traits.h"
#include "sim/step/optimizer.h"
#include "sim/step/stage_memories.h"

namespace meshwright::planner {
namespace {

// What the caches of one cell are keyed by: a few small numbers.
using Key = std::array<std::int32_t, 6>;
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = 1469598103934665603ULL;  // FNV-1a over words
    for (const std::int32_t field : key) {
      hash = (hash ^ static_cast<std::uint32_t>(field)) * 1099511628211ULL;
    }
    return hash ^ (hash >> 29U);
  }
};
template <typename Value>
using Cache = std::unordered_map<Key, Value, KeyHash>;

std::int32_t bits(std::initializer_list<bool> switches) {
  std::int32_t value = 0;
  for (const bool on : switches) value = 2 * value + (on ? 1 : 0);
  return value;
}

Key shape_key(const Layout& l) {
  return {static_cast<int>(l.schedule),
          l.virtual_pipeline_parallel_size,
          l.num_layers_in_first_pipeline_stage,
          l.num_layers_in_last_pipeline_stage,
          bits({l.account_for_embedding_in_pipeline_split, l.account_for_loss_in_pipeline_split}),
          0};
}
Key units_key(const Layout& l) {
  return {l.micro_batch_size,
          l.expert_tensor_parallel_size,
          bits({l.sequence_parallel, l.tp_comm_overlap}),
          static_cast<int>(l.recompute_granularity),
          l.recompute_modules,
          static_cast<int>(l.cp_comm_type)};
}
// Of a shape.
Key groups_key(const Layout& l) {
  return {l.recompute_granularity == RecomputeGranularity::full ? 1 : 0,
          static_cast<int>(l.recompute_method),
          l.recompute_num_layers,
          l.cpu_offloading_num_layers,
          0,
          0};
}
// Within a family: the units', and how many layers are recomputed.
Key work_key(const Layout& l) {
  Key key = units_key(l);
  key[0] = l.recompute_num_layers;  // in the place of the micro-batch
  return key;
}
Key memory_key(const Layout& l) {
  return {l.expert_tensor_parallel_size,
          bits({l.sequence_parallel, l.overlap_p2p_comm}),
          256 * static_cast<int>(l.recompute_granularity) + l.recompute_modules,
          l.recompute_num_layers,
          static_cast<int>(l.cp_comm_type),
          l.cpu_offloading_num_layers};
}
Key send_key(const Layout& l) {
  return {l.micro_batch_size,
          bits({l.sequence_parallel, l.scatter_gather_p2p, l.overlap_p2p_comm}),
          0,
          0,
          0,
          0};
}

// Bytes of a family's stage setting, and the time that offloading a part of them takes.
struct Moving {
  std::vector<Bytes> memory;
  Seconds offload;
};

// Two shapes whose runs of stages hold the same layers, embedding and head have the same
// data-parallel costs, whatever the number of alike stages and chunks.
using ShapeSignature = std::vector<std::array<int, kLayerKinds + 2>>;
ShapeSignature signature_of(const PipelineShape& shape) {
  ShapeSignature signature;
  for (const StageRun& run : shape.runs) {
    std::array<int, kLayerKinds + 2> sum{};
    for (const ChunkShare& share : run.chunks) {
      const ChunkKind& kind = shape.chunks[static_cast<std::size_t>(share.kind)];
      for (std::size_t k = 0; k < kLayerKinds; ++k) sum[k] += share.count * kind.layers[k];
      sum[kLayerKinds] |= kind.embedding ? 1 : 0;
      sum[kLayerKinds + 1] |= kind.head ? 1 : 0;
    }
    signature.push_back(sum);
  }
  return signature;
}

struct Shape {
  PipelineShape shape;
  int shape_class = 0;
  Cache<std::vector<ChunkGroups>> groups;
};

}  // namespace

struct SettingsCost::Impl {
  Impl(CostTable& t, const Cell& c)
      : table(t), cell(c), reserve(allocator_reserve(t.cluster().device, {})) {}

  CostTable& table;
  Cell cell;
  Bytes reserve;

  Cache<Shape> shapes;
  std::map<ShapeSignature, int> classes;
  Shape* shape = nullptr;  // the family's

  Cache<UnitsOf<Seconds>> units;
  Cache<Seconds> sends;
  Cache<Moving> moving;  // the family's
  StageSetting stage;
  Cache<PipelinePartOf<Seconds>> parts;  // the family's
  Seconds offload_time;

  const std::vector<Layout>* layouts = nullptr;
  const std::vector<int>* legal = nullptr;
  bool shards_gradients = false;  // ZeRO-2 or 3: communicates for every micro-batch
  Cache<DataSettings> data;

  Moving moving_of(const Layout& layout);
  DataSettings priced(const Layout& stage_layout) const;
  DataSetting priced(const Layout& layout, const DataSettings& before) const;
};

Moving SettingsCost::Impl::moving_of(const Layout& layout) {
  Moving found;
  const auto [groups, is_new] = shape->groups.try_emplace(groups_key(layout));
  if (is_new) groups->second = stage_groups(table.model(), layout, shape->shape);
  for (const MovingPeak& peak : moving_peaks(table, layout, shape->shape, groups->second)) {
    found.memory.push_back(peak.most);
  }
  found.offload =
      meshwright::offload_time(table.model(), table.job(), layout, table.cluster().device);
  return found;
}

DataSetting SettingsCost::Impl::priced(const Layout& layout, const DataSettings& before) const {
  DataSetting setting;
  setting.overlap = data_overlap(layout);
  // Settings that differ in overlap or offload only move the same bytes.
  const DataSetting* alike = nullptr;
  for (const DataSetting& other : before.settings) {
    if (other.layout->zero_stage == layout.zero_stage &&
        other.layout->zero_shard_size == layout.zero_shard_size) {
      alike = &other;
    }
  }
  if (alike != nullptr) setting.costs = alike->costs;
  for (const StageRun& run : shape->shape.runs) {
    if (alike == nullptr) {
      setting.costs.push_back(
          bare(data_cost(data_volume(table.model(), table.job(), layout, run.stage, run.first),
                         layout, table.cluster())));
    }
    const StageParameters parameters =
        stage_parameters(table.model(), table.job(), layout, run.stage);
    setting.optimizer = std::max(
        setting.optimizer, optimizer_cost(parameters, table.job(), layout, table.cluster()).time);
    setting.memory.push_back(static_memory(table.model(), table.job(), layout, run.stage).total());
  }
  return setting;
}

DataSettings SettingsCost::Impl::priced(const Layout& stage_layout) const {
  DataSettings found;
  for (const int index : *legal) {
    const Layout& data_layout = (*layouts)[static_cast<std::size_t>(index)];
    found.settings.push_back(priced(with_data_setting(stage_layout, data_layout), found));
    DataSetting& setting = found.settings.back();
    setting.layout = &data_layout;
    if (found.least_memory.empty()) found.least_memory = setting.memory;
    for (std::size_t run = 0; run < setting.memory.size(); ++run) {
      found.least_memory[run] = std::min(found.least_memory[run], setting.memory[run]);
    }
  }
  return found;
}

SettingsCost::SettingsCost(CostTable& table, const Cell& cell)
    : impl_(std::make_unique<Impl>(table, cell)),
      slowdown_(table.cluster().device.overlap_slowdown) {}
SettingsCost::~SettingsCost() = default;

Bytes SettingsCost::reserve() const { return impl_->reserve; }

void SettingsCost::set_data_settings(const std::vector<Layout>& layouts,
                                     const std::vector<int>& legal) {
  impl_->layouts = &layouts;
  impl_->legal = &legal;
  for (const int index : legal) {
    if (layouts[static_cast<std::size_t>(index)].zero_stage >= 2) impl_->shards_gradients = true;
  }
}

void SettingsCost::set_family(const Layout& family) {
  impl_->moving.clear();
  impl_->parts.clear();
  impl_->stage.micro_batches = micro_batches_of_chunk(impl_->table.job(), family);
  impl_->shape = nullptr;
}

StageSetting& SettingsCost::memory_of(const Layout& layout) {
  Impl& in = *impl_;
  if (in.shape == nullptr) {
    const auto [shape, is_new] = in.shapes.try_emplace(shape_key(layout));
    if (is_new) {
      shape->second.shape = pipeline_shape(in.table.model(), layout);
      const auto next = static_cast<int>(in.classes.size());
      shape->second.shape_class =
          in.classes.try_emplace(signature_of(shape->second.shape), next).first->second;
    }
    in.shape = &shape->second;
  }
  const auto [moving, is_new] = in.moving.try_emplace(memory_key(layout));
  if (is_new) moving->second = in.moving_of(layout);
  in.stage.layout = layout;
  in.stage.shape = &in.shape->shape;
  in.stage.shape_class = in.shape->shape_class;
  in.stage.memory = moving->second.memory;
  in.offload_time = moving->second.offload;
  return in.stage;
}

void SettingsCost::price(StageSetting& stage) {
  Impl& in = *impl_;
  const Layout& layout = stage.layout;
  const auto [send, new_send] = in.sends.try_emplace(send_key(layout));
  if (new_send) {
    send->second = send_cost(in.table.model(), in.table.job(), layout, in.table.cluster()).time;
  }
  const auto input = pipeline_input(in.table.job(), layout, send->second, in.offload_time);
  const auto [part, new_part] = in.parts.try_emplace(work_key(layout));
  if (new_part) {
    const auto [units, new_units] = in.units.try_emplace(units_key(layout));
    if (new_units) units->second = bare(in.table.units(layout));
    fill_stages(part->second, input, units->second, *stage.shape, in.table.cluster());
  }
  fill_times(part->second, input, *stage.shape, in.table.cluster());
  stage.time = part->second.time;
  stage.host = part->second.host;
  stage.offload = part->second.offload;
  stage.runs.clear();
  for (const StageCostOf<Seconds>& run : part->second.stages) {
    stage.runs.push_back({run.forward_span(), run.backward_span()});
  }
}

const DataSettings& SettingsCost::data_of(const StageSetting& stage) {
  Impl& in = *impl_;
  const Layout& l = stage.layout;
  const Key key{stage.shape_class,
                bits({l.sequence_parallel, traits(l.schedule).mirrored()}),
                l.expert_tensor_parallel_size,
                in.shards_gradients ? l.micro_batch_size : 0,
                0,
                0};
  const auto [data, is_new] = in.data.try_emplace(key);
  if (is_new) data->second = in.priced(l);
  return data->second;
}

}  // namespace meshwright::planner
