// SPDX-License-Identifier: Apache-2.0
#include "sim/evaluate.h"

#include <algorithm>
#include <vector>

#include "sim/cost/data_parallel.h"
#include "sim/cost/optimizer.h"
#include "sim/pipeline.h"

namespace meshwright {
namespace {

Cost& term(Evaluation& evaluation, TermKind kind) {
  return evaluation.terms[static_cast<std::size_t>(kind)].cost;
}

void fill_time(Evaluation& result, CostTable& table, const Layout& layout) {
  const Model& model = table.model();
  const Job& job = table.job();
  const Cluster& cluster = table.cluster();
  const int micro_batches = num_micro_batches(job.global_batch_size, layout);
  Pipeline pipeline = pipeline_of(table, layout);
  const auto slowest = static_cast<std::size_t>(pipeline.slowest);
  const StageCost& stage = pipeline.costs[slowest];

  Cost data;
  Cost optimizer;
  Cost send;
  for (std::size_t i = 0; i < pipeline.stages.size(); ++i) {
    const bool twin =
        i > 1 && i + 1 < pipeline.stages.size();  // middle stages differ in layers only
    if (twin && pipeline.stages[i].num_layers() == pipeline.stages[i - 1].num_layers()) continue;
    const StageVolume volume =
        stage_volume(model, job, layout, pipeline.stages[i], static_cast<int>(i));
    if (i == 0) send = send_cost(volume, layout, cluster);
    const Cost exposed = exposed_data(data_cost(volume, layout, cluster), pipeline.costs[i], layout,
                                      micro_batches, cluster.device.overlap_slowdown);
    if (exposed.time > data.time) data = exposed;
    const Cost step = optimizer_cost(stage_parameters(model, job, layout, pipeline.stages[i]), job,
                                     layout, cluster);
    if (step.time > optimizer.time) optimizer = step;
  }
  pipeline.times.send = send.time;

  const Seconds total = closed_form_total(layout.schedule, pipeline.times, micro_batches);
  const double m = micro_batches;
  const Seconds work = (stage.forward_time + stage.backward_time + stage.host) * m;
  const int chunks = layout.virtual_pipeline_parallel_size;
  const bool piped = layout.pipeline_parallel_size > 1;
  // Each micro-batch and chunk waits for one message forward and one backward.
  const Seconds messages = piped ? send.time * (2.0 * m * chunks) : seconds(0);
  const Seconds waiting = std::max(seconds(0), total - work);

  term(result, TermKind::forward_compute) = times(stage.forward, m);
  term(result, TermKind::backward_compute) = times(stage.backward, m);
  term(result, TermKind::recompute) = times(stage.recompute, m);
  term(result, TermKind::tensor_parallel_communication) = times(stage.tensor, m);
  term(result, TermKind::context_parallel_communication) = times(stage.context, m);
  term(result, TermKind::expert_parallel_communication) = times(stage.expert, m);
  term(result, TermKind::pipeline_communication) = send;
  term(result, TermKind::pipeline_communication).time = std::min(messages, waiting);
  Cost bubble = stage.forward + stage.backward;  // idle for as long as others compute
  bubble.time = waiting - std::min(messages, waiting);
  term(result, TermKind::pipeline_bubble) = bubble;
  term(result, TermKind::data_parallel_communication) = data;
  term(result, TermKind::optimizer) = optimizer;
  term(result, TermKind::host) = {stage.host * m + cluster.framework.step_overhead, 0.2,
                                  cluster.device.memory_provenance};
  term(result, TermKind::offload) =
      times(offload_cost(model, job, layout, stage, cluster.device), m);
  for (const Term& t : result.terms) result.step_time += t.cost.time;
}

// The largest stage's bytes. With equal layers a stage's memory falls from first to last but for
// embedding and head, so the first two and the last two stages hold the maximum; otherwise all are
// asked.
void fill_memory(Evaluation& result, const CostTable& table, const Layout& layout) {
  const std::vector<Stage> stages = pipeline_stages(table.model(), layout);
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const bool same = i > 1 && i + 2 < stages.size() && !table.model().moe &&
                      stages[i].num_layers() == stages[i - 1].num_layers();
    if (same) continue;
    const Bytes total =
        stage_memory(table.model(), table.job(), layout, stages[i], static_cast<int>(i)).total();
    if (total <= result.peak_memory) continue;
    result.peak_memory = total;
    result.peak_stage = static_cast<int>(i);
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
  fill_memory(result, table, layout);
  const Bytes capacity = table.cluster().device.memory;
  if (result.peak_memory > capacity) {
    result.violation =
        Violation{Rule::memory_capacity, result.peak_memory.value(), capacity.value()};
    if (limit == MemoryLimit::enforced) return result;
  }
  fill_time(result, table, layout);
  return result;
}

}  // namespace meshwright
