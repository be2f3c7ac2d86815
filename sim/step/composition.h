// SPDX-License-Identifier: Apache-2.0
// Where a step is put together, once for all. A layout has two sides: what its stages compute, send
// and hold for each micro-batch (pipeline_part, moving_peaks), and what its data-parallel ranks
// reduce, gather and keep (data_part, fixed_memory). Neither reads the other's settings, so a
// search prices each side once and joins every pair with a few additions.
#pragma once

#include <span>
#include <vector>

#include "sim/step/data_parallel.h"
#include "sim/step/pipeline.h"
#include "sim/step/stage_memories.h"

namespace meshwright {

struct DataPart {
  DataOverlap overlap;
  std::vector<DataCost> costs;  // by PipelineShape::runs
  Cost optimizer;               // optimizer step of the slowest stage
  Tier tier = Tier::self;       // tier of the data group's links
};

// last_bucket_share() of a first stage, whose last bucket ends the backward pass; 0 of later ones.
double last_bucket_of(const CostTable& table, const Layout& layout, const Stage& stage);
// Costs by PipelineShape::runs. Reads the sizes of the data-parallel side, not its overlaps.
std::vector<DataCost> data_costs(const CostTable& table, const Layout& layout,
                                 const PipelineShape& shape);
DataPart data_part(const CostTable& table, const Layout& layout, const PipelineShape& shape,
                   std::vector<DataCost> costs);

// Memory that stays between micro-batches, while the loss runs and while layers do.
struct FixedMemory {
  Bytes at_loss, in_layers;
};
// For each of PipelineShape::runs.
std::vector<FixedMemory> fixed_memory(const CostTable& table, const Layout& layout,
                                      const PipelineShape& shape);

// Exposed data-parallel communication, for the group of identical stages that waits longest.
struct LongestWait {
  Seconds time;
  std::size_t run = 0;  // index into PipelineShape::runs
  ExposedData exposed;
};
inline LongestWait longest_wait(const PipelinePart& pipeline, const DataPart& data) {
  LongestWait longest;
  const Seconds sends = pipeline.sends.on(data.tier);
  for (std::size_t run = 0; run < data.costs.size(); ++run) {
    const StageCost& stage = pipeline.stages[run];
    const ExposedData exposed = exposed_data(
        data.costs[run], data.overlap, stage.forward_window(data.tier, sends),
        stage.backward_window(data.tier, sends), pipeline.micro_batches, pipeline.recomputes);
    const Seconds time = exposed.total();
    if (time > longest.time) longest = {time, run, exposed};
  }
  return longest;
}

// The join of the times.
inline Seconds step_time(const PipelinePart& pipeline, const DataPart& data, Seconds wait) {
  return pipeline.time + wait + data.optimizer.time + pipeline.host + pipeline.offload;
}

// The join of the memories: the fullest stage.
struct PeakMemory {
  Bytes bytes;
  int stage = 0;
};
inline PeakMemory peak_memory(std::span<const FixedMemory> fixed,
                              std::span<const MovingPeak> moving, Bytes reserve) {
  PeakMemory peak;
  for (std::size_t run = 0; run < fixed.size(); ++run) {
    const Bytes total = std::max(fixed[run].at_loss + moving[run].most,
                                 fixed[run].in_layers + moving[run].in_layers);
    if (total > peak.bytes) peak = {total, moving[run].stage};
  }
  peak.bytes += reserve;
  return peak;
}

}  // namespace meshwright
