// SPDX-License-Identifier: Apache-2.0
#include "sim/step/stage_memories.h"

#include <algorithm>

#include "sim/memory/host_traffic.h"
#include "sim/memory/memory.h"
#include "sim/schedule/traits.h"

namespace meshwright {
namespace {

// Stages of one run, in any state.
class RunMemory {
 public:
  RunMemory(CostTable& table, const Layout& layout, const StageRun& run, const ChunkGroups& groups)
      : table_(table), layout_(layout), sizes_(groups.sizes) {
    const UnitBytes& units = table.unit_bytes(layout);
    standing_ = standing_memory(units, layout, run.kinds);
    chunks_.reserve(groups.groups.size());
    for (const ChunkGroup& group : groups.groups) {
      chunks_.push_back(chunk_memory(units, layout, group));
      if (layout.pipeline_parallel_size > 1) continue;
      layers_.push_back(chunk_memory(units, layout, group, PeakScope::layers));
    }
  }

  [[nodiscard]] StageMemory moving(int stage, PeakScope scope = PeakScope::all) const {
    return moving_memory(standing_, scope == PeakScope::all ? chunks_ : layers_,
                         table_.in_flight_states(layout_, sizes_, stage));
  }

 private:
  CostTable& table_;
  const Layout& layout_;
  const std::vector<int>& sizes_;
  std::vector<ChunkMemory> chunks_, layers_;  // layers alone: without a pipeline
  StageMemory standing_;
};

}  // namespace

std::vector<ChunkGroups> stage_groups(const Model& model, const Layout& layout,
                                      const PipelineShape& shape) {
  std::vector<ChunkGroups> groups;
  for (const StageRun& run : shape.runs) groups.push_back(chunk_groups(model, layout, run.stage));
  return groups;
}

std::vector<MovingPeak> moving_peaks(CostTable& table, const Layout& layout,
                                     const PipelineShape& shape,
                                     const std::vector<ChunkGroups>& groups) {
  std::vector<MovingPeak> peaks;
  peaks.reserve(shape.runs.size());
  for (std::size_t r = 0; r < shape.runs.size(); ++r) {
    const StageRun& run = shape.runs[r];
    const RunMemory memory(table, layout, run, groups[r]);
    const bool at_an_end = traits(layout.schedule).fullest_at_an_end;
    const int step = at_an_end ? std::max(1, run.count - 1) : 1;
    MovingPeak peak;
    for (int stage = run.first; stage <= run.last(); stage += step) {
      const Bytes total = memory.moving(stage).total();
      if (total > peak.most) peak = {total, total, stage};
    }
    if (layout.pipeline_parallel_size == 1)
      peak.in_layers = memory.moving(0, PeakScope::layers).total();
    peaks.push_back(peak);
  }
  return peaks;
}

Seconds offload_time(CostTable& table, const Layout& layout,
                     const std::vector<ChunkGroups>& groups) {
  if (!offloads_activations(layout)) return {};
  const UnitBytes& units = table.unit_bytes(layout);
  Bytes most;
  for (const ChunkGroups& stage : groups) {
    most = std::max(most, offloaded_activations(units, stage));
  }
  return most / only_device(table.cluster()).host_link;
}

Seconds offload_time(CostTable& table, const Layout& layout, const PipelineShape& shape) {
  if (!offloads_activations(layout)) return {};
  return offload_time(table, layout, stage_groups(table.model(), layout, shape));
}

std::vector<StageMemory> stage_memories(CostTable& table, const Layout& layout) {
  std::vector<StageMemory> memories;
  const PipelineShape shape = pipeline_shape(table.model(), layout);
  for (const StageRun& run : shape.runs) {
    const ChunkGroups groups = chunk_groups(table.model(), layout, run.stage);
    const RunMemory memory(table, layout, run, groups);
    for (int stage = run.first; stage <= run.last(); ++stage) {
      memories.push_back(
          stage_memory(table.model(), table.job(), layout, run.stage,
                       [&](PeakScope scope) { return memory.moving(stage, scope); }));
      memories.back().reserve = outside_allocator(only_device(table.cluster()), layout);
    }
  }
  return memories;
}

}  // namespace meshwright
