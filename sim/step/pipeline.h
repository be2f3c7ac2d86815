// SPDX-License-Identifier: Apache-2.0
// The pipeline's part of a step: what its stages compute, wait and send for all micro-batches. It
// does not depend on the data size, but for the number of micro-batches that this leaves.
//
// Slowest stage x micro-batches + sends + bubble. Layers, embedding and head are summed to chunks,
// chunks to stages; alike stages are looked at once.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "sim/layout/pipeline_shape.h"
#include "sim/schedule/schedule.h"
#include "sim/step/cost_table.h"
#include "sim/step/stage.h"
#include "sim/step/terms.h"

namespace meshwright {

// The parts of a step's seconds in the order of its terms: every sum of them is this one.
constexpr Seconds step_time(Seconds pipeline, Seconds data, Seconds optimizer, Seconds host,
                            Seconds offload) {
  return pipeline + data + optimizer + host + offload;
}

template <typename Amount>
struct PipelinePartOf {
  std::vector<ChunkCostOf<Amount>> chunks;  // by PipelineShape::chunks
  std::vector<StageCostOf<Amount>> stages;  // by PipelineShape::runs
  std::vector<StageLoad> loads;             // likewise
  int slowest = 0;                          // the run with most work
  ChunkTimes average;                       // chunk
  std::array<Amount, kNumPipelineTerms> terms{};
  Seconds time;  // their sum
  Seconds host, offload;
};
using PipelinePart = PipelinePartOf<Cost>;

// What a step of a layout has beside its units and its shape.
template <typename Amount>
struct PipelineInputOf {
  PipelineSchedule schedule = kDefaultSchedule;
  double micro_batches = 1;  // that pass each chunk: half of them where stages are mirrored
  int all_micro_batches = 1;
  Amount send{};              // one message
  Seconds offload;            // activations to the host and back, one micro-batch
  int recomputed_layers = 0;  // of each stage, whole; spread evenly over its layers
  [[nodiscard]] double recomputed_share(int stage_layers) const {
    if (stage_layers == 0) return 0.0;
    return static_cast<double>(std::min(recomputed_layers, stage_layers)) / stage_layers;
  }
};

template <typename Amount>
PipelineInputOf<Amount> pipeline_input(const Job& job, const Layout& layout, Amount send,
                                       Seconds offload);

// Instantiated for Cost and for Seconds. First what chunks and stages do for a micro-batch: of
// `input` only recomputed_layers counts.
template <typename Amount>
void fill_stages(PipelinePartOf<Amount>& part, const PipelineInputOf<Amount>& input,
                 const UnitsOf<Amount>& units, const PipelineShape& shape, const Cluster& cluster);
// Then what the pipeline makes of it in a step.
template <typename Amount>
void fill_times(PipelinePartOf<Amount>& part, const PipelineInputOf<Amount>& input,
                const PipelineShape& shape, const Cluster& cluster);

PipelinePart pipeline_part(CostTable& table, const Layout& layout, const PipelineShape& shape);

// Every stage with its costs for one micro-batch, as a timeline shows them.
struct Pipeline {
  std::vector<Stage> stages;
  std::vector<StageCost> costs;
  std::vector<std::vector<ChunkCost>> chunks;  // by stage; host with the framework's share
  PipelineTimes times;                         // send is left 0
};
Pipeline pipeline_of(CostTable& table, const Layout& layout);

}  // namespace meshwright
