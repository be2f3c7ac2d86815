// SPDX-License-Identifier: Apache-2.0
#include "sim/step/evaluate.h"

#include "sim/step/data_parallel.h"
#include "sim/step/optimizer.h"
#include "sim/step/pipeline.h"
#include "sim/step/stage_memories.h"

namespace meshwright {
namespace {

Cost& term(Evaluation& evaluation, TermKind kind) {
  return evaluation.terms[static_cast<std::size_t>(kind)].cost;
}

void fill_time(Evaluation& result, CostTable& table, const Layout& layout,
               const PipelineShape& shape) {
  const Model& model = table.model();
  const Job& job = table.job();
  const Cluster& cluster = table.cluster();
  const PipelinePart pipeline = pipeline_part(table, layout, shape);
  const double micro_batches = micro_batches_of_chunk(job, layout);

  Cost data;
  Cost optimizer;
  for (std::size_t i = 0; i < shape.runs.size(); ++i) {
    const StageRun& run = shape.runs[i];
    const DataCost cost =
        data_cost(data_volume(model, job, layout, run.stage, run.first), layout, cluster);
    const StageCost& stage = pipeline.stages[i];
    const Cost exposed =
        exposed_data(cost, data_overlap(layout), stage.forward_span(), stage.backward_span(),
                     micro_batches, cluster.device.overlap_slowdown);
    if (exposed.time > data.time) data = exposed;
    const Cost step =
        optimizer_cost(stage_parameters(model, job, layout, run.stage), job, layout, cluster);
    if (step.time > optimizer.time) optimizer = step;
  }
  for (std::size_t i = 0; i < kNumPipelineTerms; ++i) result.terms[i].cost = pipeline.terms[i];
  term(result, TermKind::data_parallel_communication) = data;
  term(result, TermKind::optimizer) = optimizer;
  term(result, TermKind::host) = {pipeline.host, 0.2, cluster.device.memory_provenance};
  term(result, TermKind::offload) = {pipeline.offload, 0.3, Provenance::datasheet};
  result.step_time =
      step_time(pipeline.time, data.time, optimizer.time, pipeline.host, pipeline.offload);
}

// The largest stage's bytes.
void fill_memory(Evaluation& result, CostTable& table, const Layout& layout,
                 const PipelineShape& shape) {
  const std::vector<MovingPeak> moving =
      moving_peaks(table, layout, shape, stage_groups(table.model(), layout, shape));
  for (std::size_t i = 0; i < moving.size(); ++i) {
    const Bytes total =
        static_memory(table.model(), table.job(), layout, shape.runs[i].stage).total() +
        moving[i].most;
    if (total <= result.peak_memory) continue;
    result.peak_memory = total;
    result.peak_stage = moving[i].stage;
  }
  result.peak_memory += allocator_reserve(table.cluster().device, layout);
}

}  // namespace

Evaluation evaluate(CostTable& table, const Layout& layout, MemoryLimit limit) {
  Evaluation result;
  for (std::size_t i = 0; i < result.terms.size(); ++i) {
    result.terms[i].kind = static_cast<TermKind>(i);
  }
  result.violation = check_layout(table.model(), table.job(), layout, table.cluster().num_gpus());
  if (result.violation) return result;
  const PipelineShape shape = pipeline_shape(table.model(), layout);
  fill_memory(result, table, layout, shape);
  const Bytes capacity = table.cluster().device.memory;
  if (result.peak_memory > capacity) {
    result.violation =
        Violation{Rule::memory_capacity, result.peak_memory.value(), capacity.value()};
    if (limit == MemoryLimit::enforced) return result;
  }
  fill_time(result, table, layout, shape);
  return result;
}

}  // namespace meshwright
