// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/base/error.h"
#include "sim/base/statistics.h"
#include "sim/block/transfer_names.h"
#include "sim/layout/short_name.h"
#include "sim/volume/transfer.h"

namespace meshwright::planner {
namespace {

Job job_as_run(Job job, const Observation& observation) {
  if (observation.run_global_batch_size > 0) {
    job.global_batch_size = observation.run_global_batch_size;
  }
  if (observation.run_precision) job = with_precision(std::move(job), *observation.run_precision);
  return job;
}

// Memory is compared, not enforced: what ran did fit, whatever the model of memory says.
Outcome estimate_as_run(const Scenario& scenario, const Layout& layout) {
  CostTable table(scenario);
  const Evaluation evaluation = evaluate(table, layout, MemoryLimit::reported);
  if (evaluation.violation && evaluation.violation->rule != Rule::memory_capacity) {
    return Infeasible{layout, *evaluation.violation};
  }
  return described(evaluation, table, layout);
}

double relative_error(double predicted, double measured) {
  return measured > 0.0 ? predicted / measured - 1.0 : 0.0;
}

std::vector<TermComparison> compare_terms(const Estimate& predicted,
                                          const Observation& observation) {
  std::vector<TermComparison> terms;
  for (const ObservedTerm& observed : observation.terms) {
    const Seconds time = predicted.terms[static_cast<std::size_t>(observed.kind)].cost.time;
    terms.push_back({observed.kind, time, observed.time});
  }
  return terms;
}

// Scalars: the gradient norm's, which a trial does not take, and the mean square's. Its ranks know
// each other's counts of tokens.
bool is_scalar(const Transfer& t) {
  return t.payload <= bytes(4) || t.name == transfer_names::kTokenCounts;
}

bool same_entry(const Transfer& a, const Transfer& b) {
  return a.name == b.name && a.group == b.group && a.phase == b.phase &&
         a.collective == b.collective;
}

const Transfer* ledger_entry(const StageVolume& ledger, const Transfer& counted) {
  const auto found = std::find_if(ledger.transfers.begin(), ledger.transfers.end(),
                                  [&](const Transfer& t) { return same_entry(t, counted); });
  return found == ledger.transfers.end() ? nullptr : &*found;
}

// States sharded by unit are the ledger's bytes in other calls: it cuts a chunk into units alike,
// of which one really is larger by the embedding. Reductions beside backward and gathers beside
// forward are one call in it, and a call for each layer in a run.
bool in_other_calls(const Layout& layout, const Transfer& t) {
  const bool of_data = t.group == Group::data || t.group == Group::expert_data ||
                       t.name == transfer_names::kReplicatedGradientAllReduce;
  return (layout.zero_stage > 1 || layout.overlap_grad_reduce) && of_data;
}

// Heads are exchanged before attention and after it, where the ledger has both in one.
bool exchanges_heads(const Layout& layout, const Transfer& t) {
  return t.group == Group::context && layout.cp_comm_type == ContextParallelAlgorithm::a2a;
}

// A unit's array is filled up to whole shards of each of its pieces, at most seven linears.
Bytes padding(const Transfer& t) {
  constexpr double kMostPieces = 7.0;
  return t.times_per_step * (kMostPieces * t.group_size - 1.0) * bytes(4);
}

// All calls of the entry together, where they may be padded or not.
bool same_sum(const std::vector<CountedTransfer>& counted, const Transfer& listed, bool padded) {
  // Its size depends on the rank's shard; the ledger has the mean of the ranks.
  if (listed.name == transfer_names::kReplicatedGradientAllReduce) return true;
  Bytes sum, filled;
  for (const Transfer& t : counted) {
    if (!same_entry(t, listed)) continue;
    sum += t.payload_per_step();
    if (padded) filled += padding(t);
  }
  const double rounding = 1e-9 * sum.value();
  return sum.value() + rounding >= listed.payload_per_step().value() &&
         sum.value() <= (listed.payload_per_step() + filled).value() + rounding;
}

bool as_listed(const Observation& observation, const Transfer& counted, const Transfer& listed) {
  const Layout& layout = observation.run_layout;
  const bool units = in_other_calls(layout, listed);
  if (units || exchanges_heads(layout, listed)) return same_sum(observation.counted, listed, units);
  return listed.payload == counted.payload && listed.times_per_step == counted.times_per_step;
}

std::vector<TransferComparison> compare_transfers(const StageVolume& ledger,
                                                  const Observation& observation,
                                                  const Cluster& cluster) {
  std::vector<TransferComparison> transfers;
  for (const CountedTransfer& counted : observation.counted) {
    TransferComparison c{counted, {}, counted.time.value_or(seconds(0)), is_scalar(counted)};
    if (const Transfer* t = ledger_entry(ledger, counted)) {
      c.predicted = transfer_cost(*t, observation.run_layout, cluster).time;
      c.as_predicted = as_listed(observation, counted, *t);
    }
    transfers.push_back(c);
  }
  return transfers;
}

bool same_bytes(const StageVolume& ledger, const std::vector<TransferComparison>& transfers) {
  const auto was_counted = [&](const Transfer& listed) {
    return is_scalar(listed) ||
           std::any_of(transfers.begin(), transfers.end(),
                       [&](const TransferComparison& t) { return same_entry(t.counted, listed); });
  };
  return std::all_of(transfers.begin(), transfers.end(),
                     [](const TransferComparison& t) { return t.as_predicted; }) &&
         std::all_of(ledger.transfers.begin(), ledger.transfers.end(), was_counted);
}

bool is_inside(Seconds measured, const Estimate& predicted) {
  return measured >= predicted.step_time_low && measured <= predicted.step_time_high;
}

LayoutComparison compare(const Observation& observation, Estimate predicted,
                         const Cluster& cluster) {
  LayoutComparison comparison;
  comparison.error = relative_error(predicted.step_time.value(), observation.step_time.value());
  comparison.inside_interval = is_inside(observation.step_time, predicted);
  if (const auto ratio = observation.host_time_ratio) {
    const Seconds as_calibrated = observation.step_time * (1.0 / *ratio);
    comparison.at_host_speed = {relative_error(predicted.step_time.value(), as_calibrated.value()),
                                is_inside(as_calibrated, predicted)};
  }
  comparison.memory_error =
      relative_error(predicted.peak_memory().value(), observation.peak_memory.value());
  comparison.terms = compare_terms(predicted, observation);
  const StageVolume& ledger = predicted.volume.stages.front();  // rank 0's
  comparison.transfers = compare_transfers(ledger, observation, cluster);
  comparison.same_bytes = same_bytes(ledger, comparison.transfers);
  comparison.observation = observation;
  comparison.predicted = std::move(predicted);
  return comparison;
}

double regret_of(const std::vector<double>& predicted, const std::vector<double>& measured) {
  const auto chosen = std::min_element(predicted.begin(), predicted.end()) - predicted.begin();
  const double best = *std::min_element(measured.begin(), measured.end());
  return measured[static_cast<std::size_t>(chosen)] / best - 1.0;
}

void summarise_at_host_speed(Validation& validation) {
  std::vector<double> errors, predicted, measured;
  double inside = 0.0;
  for (const LayoutComparison& comparison : validation.layouts) {
    if (!comparison.at_host_speed) continue;
    errors.push_back(std::abs(comparison.at_host_speed->error));
    inside += comparison.at_host_speed->inside_interval ? 1.0 : 0.0;
    predicted.push_back(comparison.predicted.step_time.value());
    measured.push_back(predicted.back() / (1.0 + comparison.at_host_speed->error));
  }
  if (errors.empty()) return;
  if (errors.size() == validation.layouts.size()) {
    validation.regret_at_host_speed = regret_of(predicted, measured);
  }
  validation.interval_coverage_at_host_speed = inside / static_cast<double>(errors.size());
  validation.worst_absolute_error_at_host_speed = *std::max_element(errors.begin(), errors.end());
  validation.median_absolute_error_at_host_speed = median(std::move(errors));
}

void summarise(Validation& validation) {
  if (validation.layouts.empty()) return;
  std::vector<double> errors, memory_errors, predicted, measured;
  double inside = 0.0;
  for (const LayoutComparison& comparison : validation.layouts) {
    errors.push_back(std::abs(comparison.error));
    memory_errors.push_back(std::abs(comparison.memory_error));
    predicted.push_back(comparison.predicted.step_time.value());
    measured.push_back(comparison.observation.step_time.value());
    inside += comparison.inside_interval ? 1.0 : 0.0;
  }
  summarise_at_host_speed(validation);
  validation.worst_absolute_error = *std::max_element(errors.begin(), errors.end());
  validation.interval_coverage = inside / static_cast<double>(errors.size());
  if (errors.size() >= 3) validation.kendall_tau = kendall_tau(predicted, measured);
  validation.regret = regret_of(predicted, measured);
  validation.median_absolute_memory_error = median(std::move(memory_errors));
  validation.median_absolute_error = median(std::move(errors));
}

}  // namespace

std::optional<ErrorCause> largest_error_cause(const Validation& validation) {
  std::map<std::optional<TermKind>, std::vector<double>> shares;
  for (const LayoutComparison& layout : validation.layouts) {
    const Seconds step = layout.observation.step_time;
    const std::optional<double> ratio = layout.observation.host_time_ratio;
    if (ratio) shares[std::nullopt].push_back((1.0 - *ratio) * (layout.predicted.step_time / step));
    for (const TermComparison& term : layout.terms) {
      shares[term.kind].push_back((term.predicted * ratio.value_or(1.0) - term.measured) / step);
    }
  }
  std::optional<ErrorCause> largest;
  for (auto& [term, all] : shares) {
    const double middle = median(std::move(all));
    if (!largest || std::abs(middle) > std::abs(largest->share_of_step)) largest = {term, middle};
  }
  return largest;
}

Validation validate(const Scenario& scenario, const std::vector<Observation>& observations) {
  Validation validation;
  for (const Observation& observation : observations) {
    const std::string name = short_name(observation.layout);
    if (!observation.failure.empty()) {
      validation.skipped.push_back(name + ": " + observation.failure);
      continue;
    }
    if (observation.mode != TrialMode::training) {
      validation.skipped.push_back(name + ": a forward pass of inference, not a training step");
      continue;
    }
    if (!(observation.step_time > seconds(0))) {
      validation.skipped.push_back(name + ": no step was timed");
      continue;
    }
    const Model run_model = model_as_run(scenario.model, observation);
    const Job run_job = job_as_run(scenario.job, observation);
    const Cluster run_cluster = scaled_to(scenario.cluster, world_size(observation.run_layout));
    Outcome outcome = estimate_as_run({run_model, run_cluster, run_job}, observation.run_layout);
    if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
      validation.skipped.push_back(name + ": no prediction: " +
                                   describe(infeasible->violation, run_model, run_job,
                                            observation.run_layout, devices_of(run_cluster)));
      continue;
    }
    validation.layouts.push_back(
        compare(observation, std::get<Estimate>(std::move(outcome)), run_cluster));
  }
  summarise(validation);
  return validation;
}

MeasuredSet observed_runs(const Scenario& scenario, const std::vector<Observation>& observations) {
  MeasuredSet set;
  set.name = "trials";
  for (const Observation& observation : observations) {
    if (!observation.failure.empty() || !(observation.step_time > seconds(0))) continue;
    MeasuredRun run;
    run.id = short_name(observation.run_layout);
    run.group = "trials";
    run.model = model_as_run(scenario.model, observation);
    run.cluster = scaled_to(scenario.cluster, world_size(observation.run_layout));
    run.job = job_as_run(scenario.job, observation);
    run.layout = observation.run_layout;
    run.step_time = observation.step_time;
    set.runs.push_back(std::move(run));
  }
  return set;
}

// Kendall 1945: (concordant - discordant) / sqrt((n0 - ties in a) (n0 - ties in b)), n0 = n(n-1)/2.
double kendall_tau(const std::vector<double>& a, const std::vector<double>& b) {
  invariant(a.size() == b.size(), "Kendall's tau needs two equally long series");
  const auto sign = [](double x, double y) { return (x < y ? 1.0 : 0.0) - (x > y ? 1.0 : 0.0); };
  double balance = 0.0, ordered_a = 0.0, ordered_b = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      const double in_a = sign(a[i], a[j]);
      const double in_b = sign(b[i], b[j]);
      balance += in_a * in_b;
      ordered_a += in_a * in_a;
      ordered_b += in_b * in_b;
    }
  }
  const double scale = std::sqrt(ordered_a * ordered_b);
  return scale > 0.0 ? balance / scale : 0.0;
}

}  // namespace meshwright::planner
