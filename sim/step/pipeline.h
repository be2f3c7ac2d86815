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

struct PipelinePart {
  std::vector<ChunkCost> chunks;         // by PipelineShape::chunks
  std::vector<StageCost> stages;         // by PipelineShape::runs
  std::vector<StageLoad> loads;          // likewise
  std::vector<ChunkLoad> uneven_chunks;  // by PipelineShape::uneven_chunks
  int slowest = 0;                       // the run with most work
  PassTimes average;                     // chunk
  std::array<Cost, kNumPipelineTerms> terms{};
  Seconds time;  // their sum
  Seconds host, offload;
  double micro_batches = 1;  // micro-batches that pass each chunk
  bool recomputes = false;   // layers, whole
  Seconds send;              // waited for a message
  WireTime sends;  // link time of a micro-batch's messages, each way, overlapped with compute
  // For a step without the data-parallel side.
  [[nodiscard]] Seconds least_step() const { return time + host + offload; }
};

// Costs of a step other than those of its units and shape.
struct PipelineInput {
  PipelineSchedule schedule = kDefaultSchedule;
  // Micro-batches that pass each chunk; half of all if stages are mirrored.
  double micro_batches = 1;
  int all_micro_batches = 1;  // micro-batches per step of one data rank
  SendCost send;              // one message
  Seconds offload;            // activations to the host, or back, of one micro-batch
  // Layers of each stage that are recomputed whole; their time is spread evenly.
  int recomputed_layers = 0;
  [[nodiscard]] double recomputed_share(int stage_layers) const {
    if (stage_layers == 0) return 0.0;
    return static_cast<double>(std::min(recomputed_layers, stage_layers)) / stage_layers;
  }
};

PipelineInput pipeline_input(const Job& job, const Layout& layout, const SendCost& send,
                             Seconds offload);
// Time that a chunk of the stage waits for one message, forward and backward.
Seconds send_wait(const SendCost& send, const StageCost& stage, int chunks_per_stage);

// First what chunks and stages do for a micro-batch: of
// `input` only recomputed_layers counts.
void fill_stages(PipelinePart& part, const PipelineInput& input, const Units& units,
                 const PipelineShape& shape, const Cluster& cluster);
// Then what the pipeline makes of it in a step.
void fill_times(PipelinePart& part, const PipelineInput& input, const PipelineShape& shape,
                const Cluster& cluster);

PipelinePart pipeline_part(CostTable& table, const Layout& layout, const PipelineShape& shape);

// Every stage with its costs for one micro-batch, as a timeline shows them.
struct Pipeline {
  std::vector<Stage> stages;
  std::vector<StageCost> costs;
  std::vector<std::vector<ChunkCost>> chunks;  // by stage; host with the framework's share
  PipelineTimes times;
  WireTime sends;  // as PipelinePart has them
};
Pipeline pipeline_of(CostTable& table, const Layout& layout);

}  // namespace meshwright
