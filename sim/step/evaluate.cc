// SPDX-License-Identifier: Apache-2.0
#include "sim/step/evaluate.h"

#include "sim/base/spread.h"
#include "sim/memory/memory.h"
#include "sim/step/composition.h"

namespace meshwright {
namespace {

void fill_time(Evaluation& result, CostTable& table, const Layout& layout,
               const PipelineShape& shape) {
  const PipelinePart pipeline = pipeline_part(table, layout, shape);
  const DataPart data = data_part(table, layout, shape, data_costs(table, layout, shape));
  const LongestWait wait = longest_wait(pipeline, data);
  const auto term = [&result](TermKind kind) -> Cost& {
    return result.terms[static_cast<std::size_t>(kind)].cost;
  };
  for (std::size_t i = 0; i < kNumPipelineTerms; ++i) result.terms[i].cost = pipeline.terms[i];
  if (wait.time > seconds(0)) {
    term(TermKind::data_parallel_communication) = exposed_cost(data.costs[wait.run], wait.exposed);
  }
  term(TermKind::optimizer) = data.optimizer;
  term(TermKind::host) = {pipeline.host, kHostLaunchSpread,
                          only_device(table.cluster()).memory_provenance};
  term(TermKind::offload) = {pipeline.offload, kHostLinkSpread, Provenance::datasheet};
  result.step_time = step_time(pipeline, data, wait.time);
}

void fill_memory(Evaluation& result, CostTable& table, const Layout& layout,
                 const PipelineShape& shape) {
  const PeakMemory peak =
      peak_memory(fixed_memory(table, layout, shape),
                  moving_peaks(table, layout, shape, stage_groups(table.model(), layout, shape)),
                  outside_allocator(only_device(table.cluster()), layout));
  result.peak_memory = peak.bytes;
}

}  // namespace

Evaluation evaluate(CostTable& table, const Layout& layout, MemoryLimit limit) {
  Evaluation result;
  for (std::size_t i = 0; i < result.terms.size(); ++i) {
    result.terms[i].kind = static_cast<TermKind>(i);
  }
  result.violation = check_layout(table.model(), table.job(), layout, devices_of(table.cluster()));
  if (result.violation) return result;
  const PipelineShape shape = pipeline_shape(table.model(), layout);
  fill_memory(result, table, layout, shape);
  const Bytes capacity = only_device(table.cluster()).memory;
  if (result.peak_memory > capacity) {
    result.violation =
        Violation{Rule::memory_capacity, result.peak_memory.value(), capacity.value()};
    if (limit == MemoryLimit::enforced) return result;
  }
  fill_time(result, table, layout, shape);
  return result;
}

}  // namespace meshwright
