// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "planner/capacity/limits.h"
#include "planner/questions/no_layout.h"
#include "planner/questions/what_if.h"
#include "planner/search/rejection.h"
#include "planner/search/search_layouts.h"
#include "sim/base/error.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/node_count.h"

namespace meshwright::planner {

std::optional<Layout> filled(StatedLayout stated, int gpus, const FeatureLimits& limits) {
  const int others = world_size(stated.layout) / stated.layout.data_parallel_size;
  if (gpus % others != 0) return std::nullopt;
  stated.layout.data_parallel_size = gpus / others;
  return with_default_overlaps(stated, limits);
}

namespace {

// The step of the only layout that is asked for; what else a plan tells is not.
struct Found {
  std::optional<Estimate> estimate;
  std::string reason;
};

std::string why_uneven(int gpus, const Cluster& cluster) {
  if (node_fill(cluster, gpus)) return "";
  const UnevenCount refusal = uneven_count(cluster, gpus);
  return refusal.what + ": " + refusal.hint;
}

Found found_for(const Scenario& scenario, const StatedLayout& stated, double memory_headroom) {
  const int gpus = scenario.cluster.num_gpus();
  const auto named = filled(stated, gpus, scenario.cluster.framework.limits);
  if (!named) {
    const int others = world_size(stated.layout) / stated.layout.data_parallel_size;
    return {std::nullopt, fmt::format("{} ranks do not divide {} {} into data-parallel groups",
                                      others, gpus, device_noun(scenario.cluster, gpus))};
  }
  const Layout layout = stated.says("moe_token_dispatcher_type")
                            ? *named
                            : with_proven_dispatcher(*named, scenario.cluster);
  CostTable table(scenario);
  const Bytes limit = only_device(scenario.cluster).memory * (1.0 - memory_headroom);
  const Evaluation evaluation = evaluate_within(table, layout, limit);
  if (!evaluation.violation) return {described(evaluation, table, layout), ""};
  return {std::nullopt, describe(*evaluation.violation, scenario.model, scenario.job, layout,
                                 devices_of(scenario.cluster))};
}

// The time of the fastest of those layouts, each on all of the scenario's GPUs, that fit.
Seconds fastest_of(CostTable& table, const std::vector<Layout>& layouts, Bytes limit) {
  Seconds fastest = seconds(std::numeric_limits<double>::infinity());
  const int gpus = table.cluster().num_gpus();
  for (Layout layout : layouts) {
    const int others = world_size(layout) / layout.data_parallel_size;
    if (gpus % others != 0) continue;
    layout.data_parallel_size = gpus / others;
    const Evaluation evaluation = evaluate_within(table, layout, limit);
    if (!evaluation.violation) fastest = std::min(fastest, evaluation.step_time);
  }
  return fastest;
}

// `near`: layouts that were the fastest of neighbouring rows. Where nothing fits on the devices,
// the whole search says why, and tries the host.
Found found_for(const Scenario& scenario, const SearchOptions& options,
                const std::vector<Layout>& near) {
  CostTable table(scenario);
  const Bytes limit = only_device(scenario.cluster).memory * (1.0 - options.memory_headroom);
  const Seconds unknown = seconds(std::numeric_limits<double>::infinity());
  const Seconds known = fastest_of(table, near, limit);
  const auto find = [&](Seconds at_most) {
    return fastest_layout(scenario, options, limit, at_most);
  };
  auto best = find(known);
  // A near layout may lie outside the space that the user named.
  if (!best && known < unknown) best = find(unknown);
  if (best) return {std::get<Estimate>(estimate(table, best->layout)), ""};
  const Plan plan = search(scenario, options);
  if (plan.ranked.empty()) {
    return {std::nullopt, sentence_of(why_no_layout(plan, options), plan)};
  }
  return {plan.ranked.front(), ""};
}

Scenario scenario_of(const CapacityQuestion& question, const SearchKey& key) {
  const ClusterCase& asked = question.clusters[key.cluster_case];
  Scenario scenario{question.model, scaled_to(asked.cluster, key.gpus), asked.job};
  scenario.job.global_batch_size = key.global_batch_size;
  scenario.job.seq_length = key.seq_length;
  if (key.what_ifs.empty()) return scenario;
  const std::vector<Change> changes = changes_from_text(key.what_ifs, scenario);
  return changed(std::move(scenario), changes);
}

}  // namespace

namespace {

Found found_with(const CapacityQuestion& question, const SearchKey& key, const Scenario& scenario,
                 const std::vector<Layout>& near) {
  if (!question.layouts.empty()) {
    const std::size_t place = std::min(key.phase, question.layouts.size() - 1);
    return found_for(scenario, question.layouts[place], question.search.memory_headroom);
  }
  SearchOptions options = question.search;
  options.top = 1;
  return found_for(scenario, options, near);
}

void remember(std::vector<Layout>& layouts, const Layout& layout) {
  constexpr std::size_t kMostNear = 12;
  std::erase(layouts, layout);
  layouts.push_back(layout);
  if (layouts.size() > kMostNear) layouts.erase(layouts.begin());
}

}  // namespace

namespace {

bool is_planned(const CapacityQuestion& question, const SearchKey& key) {
  if (!question.planned || !question.layouts.empty() || !key.what_ifs.empty()) return false;
  const Job& job = question.clusters[key.cluster_case].job;
  return key.gpus == world_size(question.planned->layout) &&
         key.global_batch_size == job.global_batch_size && key.seq_length == job.seq_length;
}

}  // namespace

struct LayoutFinder::Impl {
  const CapacityQuestion& question;
  std::map<SearchKey, Found> found{};
  std::map<std::size_t, std::vector<Layout>> fastest{};  // of each cluster, the last ones
};

LayoutFinder::LayoutFinder(const CapacityQuestion& question)
    : impl_(std::make_unique<Impl>(Impl{question})) {}
LayoutFinder::~LayoutFinder() = default;

void LayoutFinder::find(const std::vector<SearchKey>& keys, const CapacityProgress& progress) {
  const CapacityQuestion& question = impl_->question;
  std::vector<std::pair<SearchKey, Scenario>> open;
  for (const SearchKey& key : keys) {
    if (impl_->found.contains(key)) continue;
    Found& mine = impl_->found[key];
    mine.reason = why_uneven(key.gpus, question.clusters[key.cluster_case].cluster);
    if (is_planned(question, key)) {
      mine.estimate = question.planned;
    } else if (mine.reason.empty()) {
      open.emplace_back(key, scenario_of(question, key));
    }
  }
  // One after the other: each is spread over the cores, and helps the next.
  for (std::size_t i = 0; i < open.size(); ++i) {
    const auto& [key, scenario] = open[i];
    std::vector<Layout>& near = impl_->fastest[key.cluster_case];
    impl_->found[key] = found_with(question, key, scenario, near);
    if (const Estimate* estimate = layout(key)) remember(near, estimate->layout);
    if (progress) progress(i + 1, open.size());
  }
}

const Estimate* LayoutFinder::layout(const SearchKey& key) const {
  const auto& estimate = impl_->found.at(key).estimate;
  return estimate ? &*estimate : nullptr;
}

const std::string& LayoutFinder::reason(const SearchKey& key) const {
  return impl_->found.at(key).reason;
}

Scenario LayoutFinder::scenario(const SearchKey& key) const {
  return scenario_of(impl_->question, key);
}

namespace {

// What of the run each phase trains, with the key of its search.
struct PhaseOf {
  double tokens = 0.0;
  SearchKey key;
};

std::vector<PhaseOf> phases_of(const CapacityQuestion& question, const RowKey& row) {
  const Job& job = question.clusters[row.cluster_case].job;
  const auto key = [&](int batch, int seq_length, std::size_t phase) {
    // Phases that are alike are one search.
    const std::size_t layout = question.layouts.empty() ? 0 : phase;
    return SearchKey{row.cluster_case, row.gpus, batch, seq_length, layout, row.what_ifs};
  };
  const double tokens = question.tokens();
  if (!row.scheduled) return {{tokens, key(row.global_batch_size, job.seq_length, 0)}};
  const std::vector<BatchPhase>& schedule = question.options.schedule;
  std::vector<PhaseOf> phases;
  double begin = 0.0;
  for (std::size_t i = 0; i < schedule.size() && begin < tokens; ++i) {
    const bool last = i + 1 == schedule.size();
    const double end = last ? tokens : std::min(schedule[i].until_tokens, tokens);
    phases.push_back({end - begin, key(schedule[i].global_batch_size, schedule[i].seq_length, i)});
    begin = end;
  }
  return phases;
}

const PhaseOf& largest(const std::vector<PhaseOf>& phases) {
  return *std::max_element(phases.begin(), phases.end(),
                           [](const PhaseOf& a, const PhaseOf& b) { return a.tokens < b.tokens; });
}

double steps_of(double tokens, const Job& job) {
  return std::ceil(tokens / (static_cast<double>(job.global_batch_size) * job.seq_length));
}

std::optional<Ranged> changed_price(const CapacityQuestion& question, const SearchKey& key) {
  const ClusterCase& asked = question.clusters[key.cluster_case];
  const auto price = price_of(question.options.prices, asked.name, asked.cluster);
  if (!price || key.what_ifs.empty()) return price;
  CapacityQuestion priced{.model = question.model, .clusters = {asked}};
  priced.clusters.front().cluster.price_per_gpu_hour = price->value;
  SearchKey there = key;
  there.cluster_case = 0;
  const double after = scenario_of(priced, there).cluster.price_per_gpu_hour.value();
  return times(*price, after / price->value);
}

}  // namespace

const CapacityPhase& CapacityRow::main_phase() const {
  return *std::max_element(
      phases.begin(), phases.end(),
      [](const CapacityPhase& a, const CapacityPhase& b) { return a.tokens < b.tokens; });
}

double CapacityQuestion::tokens() const { return train_tokens.value_or(kSampleTokens); }

DeviceKind CapacityQuestion::device_kind() const {
  const bool cores =
      !clusters.empty() && std::all_of(clusters.begin(), clusters.end(), [](const auto& asked) {
        return only_device(asked.cluster).kind == DeviceKind::cpu;
      });
  return cores ? DeviceKind::cpu : DeviceKind::gpu;
}

namespace {

// Share of a step in which devices compute; the rest is exposed communication, bubble and host.
double load_of(const Estimate& estimate) {
  Seconds busy;
  for (const Term& term : estimate.terms) {
    const bool computes = term.kind == TermKind::forward_compute ||
                          term.kind == TermKind::backward_compute ||
                          term.kind == TermKind::recompute || term.kind == TermKind::optimizer;
    if (computes) busy += term.cost.time;
  }
  return estimate.step_time.value() > 0.0 ? std::min(1.0, busy / estimate.step_time) : 1.0;
}

// Every part of the step takes `factor` times as long.
Estimate with_step_factor(Estimate estimate, double factor) {
  if (factor == 1.0) return estimate;
  for (Term& term : estimate.terms) term.cost.time *= factor;
  for (Seconds* time : {&estimate.step_time, &estimate.step_time_low, &estimate.step_time_high}) {
    *time *= factor;
  }
  estimate.tokens_per_second_per_gpu /= factor;
  estimate.model_flops_utilization /= factor;
  return estimate;
}

Quantiles per_second(double tokens, const Quantiles& days) {
  const auto over = [tokens](double d) { return d > 0.0 ? tokens / (d * 86400.0) : 0.0; };
  return {over(days.p90), over(days.p50), over(days.p10)};
}

}  // namespace

RunPhase run_phase_of(const CapacityPhase& phase) {
  const Estimate& e = phase.estimate;
  return {phase.steps, e.step_time, e.step_time_low, e.step_time_high, load_of(e)};
}

std::vector<SearchKey> searches_of(const CapacityQuestion& question, const RowKey& key) {
  std::vector<SearchKey> keys;
  for (const PhaseOf& phase : phases_of(question, key)) keys.push_back(phase.key);
  return keys;
}

CapacityRow row_of(const CapacityQuestion& question, const RowKey& key,
                   const LayoutFinder& finder) {
  const std::vector<PhaseOf> phases = phases_of(question, key);
  const SearchKey& main = largest(phases).key;
  CapacityRow row{.cluster_case = key.cluster_case,
                  .gpus = key.gpus,
                  .scheduled = key.scheduled,
                  .stated_batch_size = key.global_batch_size,
                  .asked_batch_size = key.global_batch_size,
                  .global_batch_size = main.global_batch_size,
                  .seq_length = main.seq_length};
  std::vector<RunPhase> steps;
  for (const PhaseOf& phase : phases) {
    const Estimate* estimate = finder.layout(phase.key);
    if (estimate == nullptr) {
      row.reason = finder.reason(phase.key);
      return row;
    }
    const Job job = finder.scenario(phase.key).job;
    row.phases.push_back({phase.tokens, steps_of(phase.tokens, job), job,
                          with_step_factor(*estimate, question.options.step_factor)});
    steps.push_back(run_phase_of(row.phases.back()));
  }
  row.global_batch_size = row.main_phase().job.global_batch_size;
  const Scenario scenario = finder.scenario(main);
  row.price = changed_price(question, main);
  row.kilowatts = kilowatts_per_gpu(question.options.power, scenario.cluster);
  row.run = training_run(scenario, steps, question.options, row.price);
  row.memory_share = row.main_phase().estimate.peak_memory() / only_device(scenario.cluster).memory;
  row.tokens_per_second = per_second(question.tokens(), row.run.days);
  row.broken_limits = broken_limits(row, question);
  return row;
}

}  // namespace meshwright::planner
