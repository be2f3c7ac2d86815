// SPDX-License-Identifier: Apache-2.0
#include "planner/search/settings_cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "sim/layout/layout_key.h"
#include "sim/memory/memory.h"
#include "sim/schedule/traits.h"

namespace meshwright::planner {
namespace {

using ShapeKey = LayoutKey<KeyScope::parallel_sizes, CostPart::shape>;
using TreatmentKey = LayoutKey<KeyScope::parallel_sizes, CostPart::treatment>;  // of a shape
using UnitsKey = LayoutKey<KeyScope::parallel_sizes, CostPart::units>;
using SendKey = LayoutKey<KeyScope::parallel_sizes, CostPart::send>;
// Within a pipeline setting.
using MovingKey =
    LayoutKey<KeyScope::pipeline, CostPart::unit_bytes, CostPart::treatment, CostPart::memory>;

// Beside what it reads of the layout, a number that is no field.
template <typename Read>
struct KeyWith {
  Read read;
  int number = 0;
  bool operator==(const KeyWith&) const = default;
  [[nodiscard]] std::size_t hash() const { return read.hash(static_cast<std::size_t>(number)); }
};
// Within a pipeline setting: the units, and how many layers of a stage run again whole.
using StagesKey = KeyWith<LayoutKey<KeyScope::pipeline, CostPart::units>>;
// Key of a class of shapes: the fields of a stage setting that change data-parallel costs.
using DataKey = KeyWith<LayoutKey<KeyScope::parallel_sizes, CostPart::data>>;

template <typename Key, typename Value>
using Cache = std::unordered_map<Key, Value, LayoutKeyHash>;

// Stage settings are priced without their data-parallel side.
constexpr bool stages_read_no_data_setting() {
  bool none = true;
  for_each_field([&](const auto& field) {
    if (field.level != SearchLevel::data) return;
    for (const CostPart part :
         {CostPart::placement, CostPart::shape, CostPart::units, CostPart::treatment,
          CostPart::unit_bytes, CostPart::memory, CostPart::send}) {
      none = none && !field.reads(part);
    }
  });
  return none;
}
static_assert(stages_read_no_data_setting());

// Bytes of a stage setting, and the time that offloading a part of them takes.
struct Moving {
  std::vector<MovingPeak> memory;
  Seconds offload;
};

// Two shapes whose runs of stages hold the same layers, embedding and head have the same
// data-parallel costs, whatever the number of alike stages and chunks.
using ShapeSignature = std::vector<std::array<int, kLayerKinds + 3>>;
ShapeSignature signature_of(const PipelineShape& shape) {
  ShapeSignature signature;
  for (const StageRun& run : shape.runs) {
    std::array<int, kLayerKinds + 3> sum{};
    for (const ChunkRun& same : run.chunks) {
      const ChunkKind& kind = shape.chunks[static_cast<std::size_t>(same.kind)];
      for (std::size_t k = 0; k < kLayerKinds; ++k) sum[k] += same.count * kind.layers[k];
      sum[kLayerKinds] |= kind.embedding ? 1 : 0;
      sum[kLayerKinds + 1] |= kind.head ? 1 : 0;
      sum[kLayerKinds + 2] |= kind.mtp ? 1 : 0;
    }
    signature.push_back(sum);
  }
  return signature;
}

// Layout of these sizes, with defaults for all other fields.
Layout layout_of(const ParallelSizes& sizes) {
  Layout layout = sizes.defaults;
  layout.tensor_parallel_size = sizes.tensor;
  layout.pipeline_parallel_size = sizes.pipeline;
  layout.data_parallel_size = sizes.data;
  layout.context_parallel_size = sizes.context;
  layout.expert_parallel_size = sizes.expert;
  layout.rank_order = sizes.rank_order;
  return layout;
}

// Interleaved chunks: a stage works on each micro-batch, and waits until the first one has come
// through, and the last one gone back through, the first chunks of the stages before.
Seconds busiest_path(const PipelinePart& part, const PipelineShape& shape, double micro_batches) {
  Seconds before, longest;
  for (std::size_t r = 0; r < shape.runs.size(); ++r) {
    const StageRun& run = shape.runs[r];
    const ChunkCost& chunk = part.chunks[static_cast<std::size_t>(run.chunks.front().kind)];
    const Seconds first = chunk.forward_time() + chunk.backward_time();
    longest =
        std::max(longest, before + first * (run.count - 1) + part.stages[r].work() * micro_batches);
    before += first * run.count;
  }
  return longest;
}

struct Shape {
  PipelineShape shape;
  int shape_class = 0;
  Cache<TreatmentKey, std::vector<ChunkGroups>> groups;
};

}  // namespace

struct SettingsCost::Impl {
  Impl(CostTable& t, const ParallelSizes& c)
      : table(t), sizes(c), reserve(outside_allocator(only_device(t.cluster()), layout_of(c))) {}

  CostTable& table;
  ParallelSizes sizes;
  Bytes reserve;

  Cache<ShapeKey, Shape> shapes;
  std::map<ShapeSignature, int> classes;
  Shape* shape = nullptr;  // the pipeline setting's

  Cache<UnitsKey, Units> units;
  Cache<SendKey, SendCost> sends;
  Cache<MovingKey, Moving> moving;  // the pipeline setting's
  StageSetting stage;
  Cache<StagesKey, PipelinePart> parts;  // the pipeline setting's
  Seconds offload_time;

  const std::vector<Layout>* layouts = nullptr;
  const std::vector<int>* legal = nullptr;
  bool shards_gradients = false;  // ZeRO-2 or 3, FSDP: communicates for every micro-batch
  Cache<DataKey, DataSettings> data;
  Cache<DataKey, Bytes> least_memory;

  Moving moving_of(const Layout& layout);
  struct Stages {
    PipelineInput input;
    PipelinePart& part;  // without its times
  };
  Stages stages_of(const StageSetting& stage, Seconds offload);
  DataKey data_key(const StageSetting& setting) const;
  DataSettings priced(const Layout& stage_layout) const;
  DataSetting priced(const Layout& layout, const DataSettings& before) const;
};

Moving SettingsCost::Impl::moving_of(const Layout& layout) {
  Moving found;
  const auto [groups, is_new] = shape->groups.try_emplace(TreatmentKey(layout));
  if (is_new) groups->second = stage_groups(table.model(), layout, shape->shape);
  found.memory = moving_peaks(table, layout, shape->shape, groups->second);
  found.offload = meshwright::offload_time(table, layout, groups->second);
  return found;
}

DataSetting SettingsCost::Impl::priced(const Layout& layout, const DataSettings& before) const {
  // Settings that differ in overlap or offload only move the same bytes.
  const DataSetting* alike = nullptr;
  for (const DataSetting& other : before.settings) {
    if (other.layout->zero_stage == layout.zero_stage &&
        other.layout->zero_shard_size == layout.zero_shard_size) {
      alike = &other;
    }
  }
  std::vector<DataCost> costs =
      alike != nullptr ? alike->part.costs : data_costs(table, layout, shape->shape);
  return {nullptr, data_part(table, layout, shape->shape, std::move(costs)),
          fixed_memory(table, layout, shape->shape)};
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
      FixedMemory& least = found.least_memory[run];
      least.at_loss = std::min(least.at_loss, setting.memory[run].at_loss);
      least.in_layers = std::min(least.in_layers, setting.memory[run].in_layers);
    }
  }
  return found;
}

SettingsCost::SettingsCost(CostTable& table, const ParallelSizes& sizes)
    : impl_(std::make_unique<Impl>(table, sizes)) {}
SettingsCost::~SettingsCost() = default;

Bytes SettingsCost::reserve() const { return impl_->reserve; }

void SettingsCost::set_data_settings(const std::vector<Layout>& layouts,
                                     const std::vector<int>& legal) {
  impl_->layouts = &layouts;
  impl_->legal = &legal;
  for (const int index : legal) {
    const Layout& layout = layouts[static_cast<std::size_t>(index)];
    if (layout.zero_stage >= 2 || uses_fsdp(layout)) impl_->shards_gradients = true;
  }
}

void SettingsCost::begin_pipeline_setting() {
  impl_->moving.clear();
  impl_->parts.clear();
  impl_->shape = nullptr;
}

StageSetting& SettingsCost::stage_of(const Layout& layout) {
  Impl& in = *impl_;
  if (in.shape == nullptr) {
    const auto [shape, is_new] = in.shapes.try_emplace(ShapeKey(layout));
    if (is_new) {
      shape->second.shape = pipeline_shape(in.table.model(), layout);
      const auto next = static_cast<int>(in.classes.size());
      shape->second.shape_class =
          in.classes.try_emplace(signature_of(shape->second.shape), next).first->second;
    }
    in.shape = &shape->second;
  }
  in.stage = {layout, &in.shape->shape, in.shape->shape_class, nullptr, nullptr};
  return in.stage;
}

void SettingsCost::weigh(StageSetting& stage) {
  Impl& in = *impl_;
  const auto [moving, is_new] = in.moving.try_emplace(MovingKey(stage.layout));
  if (is_new) moving->second = in.moving_of(stage.layout);
  stage.memory = &moving->second.memory;
  in.offload_time = moving->second.offload;
}

SettingsCost::Impl::Stages SettingsCost::Impl::stages_of(const StageSetting& setting,
                                                         Seconds offload) {
  const Layout& layout = setting.layout;
  const auto [send, new_send] = sends.try_emplace(SendKey(layout));
  if (new_send) send->second = send_cost(table.scenario(), layout);
  const auto input = pipeline_input(table.job(), layout, send->second, offload);
  const auto [part, new_part] =
      parts.try_emplace(StagesKey{decltype(StagesKey::read)(layout), input.recomputed_layers});
  if (new_part) {
    const auto [found, new_units] = units.try_emplace(UnitsKey(layout));
    if (new_units) found->second = table.units(layout);
    fill_stages(part->second, input, found->second, *setting.shape, table.cluster());
  }
  return {input, part->second};
}

void SettingsCost::price(StageSetting& stage) {
  const Impl::Stages stages = impl_->stages_of(stage, impl_->offload_time);
  fill_times(stages.part, stages.input, *stage.shape, impl_->table.cluster());
  stage.pipeline = &stages.part;
}

Seconds SettingsCost::least_step(StageSetting& stage) {
  if (stage.pipeline != nullptr) return stage.pipeline->least_step();
  const Impl::Stages stages = impl_->stages_of(stage, seconds(0));
  PipelinePart& part = stages.part;
  if (!stage.shape->uneven_chunks.empty()) {
    return busiest_path(part, *stage.shape, stages.input.micro_batches);
  }
  fill_times(part, stages.input, *stage.shape, impl_->table.cluster());
  if (!offloads_activations(stage.layout)) stage.pipeline = &part;
  return part.least_step();
}

Seconds SettingsCost::balanced_work(const StageSetting& stage) {
  const Impl::Stages stages = impl_->stages_of(stage, seconds(0));
  Seconds work;
  for (std::size_t run = 0; run < stage.shape->runs.size(); ++run) {
    const StageCost& cost = stages.part.stages[run];
    work += (cost.forward_time + cost.backward_time) * stage.shape->runs[run].count;
  }
  const double m = stages.input.micro_batches;
  const double p = stage.shape->num_stages;
  const ScheduleTraits& t = traits(stage.layout.schedule);
  if (t.most_chunks > 1 || t.splits_backward) return work * (m / p);
  // Stage i takes m w_i, and waits for one micro-batch on the stages before: least where all end
  // together, w_i = T / m (1 - 1 / m)^i.
  return work / (1.0 - std::pow(1.0 - 1.0 / m, p));
}

DataKey SettingsCost::Impl::data_key(const StageSetting& setting) const {
  Layout read = setting.layout;
  // They read only whether the schedule lets two stages hold each layer, and the micro-batch only
  // with ZeRO-2 and 3.
  if (!traits(read.schedule).mirrored()) read.schedule = kDefaultSchedule;
  if (!shards_gradients) read.micro_batch_size = Layout{}.micro_batch_size;
  return {decltype(DataKey::read)(read), setting.shape_class};
}

const DataSettings& SettingsCost::data_of(const StageSetting& stage) {
  const auto [data, is_new] = impl_->data.try_emplace(impl_->data_key(stage));
  if (is_new) data->second = impl_->priced(stage.layout);
  return data->second;
}

Bytes SettingsCost::least_memory(const StageSetting& stage) {
  const auto [least, is_new] = impl_->least_memory.try_emplace(impl_->data_key(stage));
  if (!is_new) return least->second;
  least->second = bytes(std::numeric_limits<double>::infinity());
  const std::vector<MovingPeak> none(stage.shape->runs.size());
  for (const int index : *impl_->legal) {
    const Layout& data = (*impl_->layouts)[static_cast<std::size_t>(index)];
    Layout layout = with_data_setting(stage.layout, data);
    layout.optimizer_offload = true;
    const std::vector<FixedMemory> fixed = fixed_memory(impl_->table, layout, *stage.shape);
    least->second = std::min(least->second, peak_memory(fixed, none, impl_->reserve).bytes);
  }
  return least->second;
}

}  // namespace meshwright::planner
