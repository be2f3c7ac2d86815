// SPDX-License-Identifier: Apache-2.0
#include "sim/step/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/kernel_time/gemm_model.h"
#include "sim/operators/operators.h"
#include "sim/step/stage_memories.h"
#include "sim/step/step_interval.h"
#include "sim/step/utilization.h"

namespace meshwright {
namespace {

constexpr double kTermThatMatters =
    0.01;  // share of the step below which a term's provenance is not asked

// Sentence on the interval that naming the software would give, appended to the advice to name it.
// Empty: nothing is known.
std::string gain_of_naming(const Estimate& estimate, const Cluster& cluster, bool experts,
                           Seconds least) {
  const std::optional<Cluster> named = with_named_software(cluster);
  if (!named) return "";
  const Seconds step = estimate.step_time;
  const StepInterval then = step_interval(step, step_spread(*named, experts),
                                          spread_of_parts(estimate.terms, step), least);
  return fmt::format("; the interval of this step is then {} instead of {}",
                     relative_text(then, step),
                     relative_text({estimate.step_time_low, estimate.step_time_high}, step));
}

void fill_interval(Estimate& estimate, const Scenario& scenario, Flops step_flops) {
  const Cluster& cluster = scenario.cluster;
  estimate.interval_regime = interval_regime(cluster);
  estimate.narrowed_by = narrowed_by(cluster);
  if (estimate.step_time == seconds(0)) return;
  for (const Term& term : estimate.terms) {
    if (term.cost.time > estimate.step_time * kTermThatMatters) {
      estimate.provenance = weakest(estimate.provenance, term.cost.provenance);
    }
  }
  const bool experts = scenario.model.moe.has_value();
  const Seconds least =
      least_step_time(step_flops, cluster, scenario.job.precision, world_size(estimate.layout));
  const StepInterval found =
      step_interval(estimate.step_time, step_spread(cluster, experts),
                    spread_of_parts(estimate.terms, estimate.step_time), least);
  estimate.step_time_low = found.low;
  estimate.step_time_high = found.high;
  estimate.narrowed_by += gain_of_naming(estimate, cluster, experts, least);
}

}  // namespace

Bytes Estimate::peak_memory() const {
  Bytes peak;
  for (const StageMemory& stage : memory) peak = std::max(peak, stage.total());
  return peak;
}

Bytes Estimate::peak_allocated() const {
  Bytes peak;
  for (const StageMemory& stage : memory) peak = std::max(peak, stage.allocated());
  return peak;
}

Estimate described(const Evaluation& evaluation, CostTable& table, const Layout& layout) {
  const Model& model = table.model();
  const Cluster& cluster = table.cluster();
  const Job& job = table.job();
  Estimate estimate;
  estimate.layout = layout;
  estimate.step_time = evaluation.step_time;
  estimate.terms = evaluation.terms;
  estimate.memory = stage_memories(table, layout);
  const Bytes peak = estimate.peak_memory();
  estimate.reserved_peak = reserved_peak(peak, estimate.peak_allocated(), cluster.framework.memory);
  estimate.memory_fit = memory_fit(peak, estimate.reserved_peak, only_device(cluster).memory);
  estimate.volume = volume(model, job, layout);
  const Flops step_flops = model_flops(model, job, true);
  fill_interval(estimate, table.scenario(), step_flops);
  const double gpus = world_size(layout);
  const double tokens = static_cast<double>(job.global_batch_size) * job.seq_length;
  estimate.tokens_per_second_per_gpu = tokens / estimate.step_time.value() / gpus;
  estimate.model_flops_utilization = model_flops_utilization(
      step_flops, estimate.step_time, gemm_model_for(only_device(cluster), job.precision).peak,
      world_size(layout));
  return estimate;
}

Outcome estimate(const Scenario& scenario, const Layout& layout) {
  CostTable table(scenario);
  return estimate(table, layout);
}

Outcome estimate(CostTable& table, const Layout& layout) {
  const Evaluation evaluation = evaluate(table, layout);
  if (evaluation.violation) return Infeasible{layout, *evaluation.violation};
  return described(evaluation, table, layout);
}

}  // namespace meshwright
