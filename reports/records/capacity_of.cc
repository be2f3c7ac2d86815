// SPDX-License-Identifier: Apache-2.0
// The planner's answer as a record: texts and ids are made here.
#include <fmt/format.h>

#include "reports/records/capacity.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/hardware/node_count.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

std::string id_of(const planner::CapacityAnswer& answer, const planner::CapacityRow& row) {
  return fmt::format("{}/{}/{}", answer.question.clusters[row.cluster_case].name, row.gpus,
                     row.scheduled ? "schedule" : std::to_string(row.global_batch_size));
}

std::optional<std::string> id_of(const planner::CapacityAnswer& answer,
                                 const std::optional<std::size_t>& place) {
  if (!place) return std::nullopt;
  return id_of(answer, answer.rows[*place]);
}

StepRange step_range_of(const Estimate& e) {
  return {.low = e.step_time_low, .mid = e.step_time, .high = e.step_time_high};
}

RunFacts run_of(const planner::CapacityRow& row, const planner::CapacityOptions& options) {
  RunFacts facts{.gpus = row.gpus,
                 .global_batch = row.global_batch_size,
                 .schedule = row.scheduled,
                 .fits = row.fits(),
                 .limits = row.broken_limits};
  if (!row.fits()) {
    facts.limits = {row.reason};
    return facts;
  }
  const planner::TrainingRun& run = row.run;
  const Estimate& estimate = row.main_phase().estimate;
  facts.layout = brief_name(estimate.layout);
  facts.step = step_range_of(estimate);
  facts.mfu = estimate.model_flops_utilization;
  facts.memory_share = row.memory_share;
  facts.goodput = run.time.goodput();
  facts.effective_tokens_per_second = row.tokens_per_second;
  facts.days = run.days;
  if (options.start) {
    const auto at = [&](double days) {
      return planner::date_text(planner::last_day(*options.start, days));
    };
    facts.done = {at(run.days.p10), at(run.days.p50), at(run.days.p90)};
  }
  facts.gpu_hours = run.gpu_hours;
  if (run.cost) facts.cost = {*run.cost, options.prices.currency, *run.cost_parts};
  if (run.energy_mwh) facts.energy_mwh = run.energy_mwh->p50;
  return facts;
}

void add_run(CapacityRow& facts, const planner::CapacityAnswer& answer,
             const planner::CapacityRow& row) {
  const planner::TrainingRun& run = row.run;
  const Estimate& estimate = row.main_phase().estimate;
  facts.layout_record = estimate.layout;
  facts.tokens_per_second = estimate.tokens_per_second_per_gpu * row.gpus;
  facts.memory_gib = in_gibibytes(estimate.peak_memory());
  facts.provenance = estimate.provenance;
  for (const Term& term : estimate.terms) {
    if (term.cost.time.value() > 0.0)
      facts.terms.emplace_back(name_of(term.kind), term.cost.time.value());
  }
  facts.cost_explanation = cost_explanation(answer, row);
  facts.energy_mwh_range = run.energy_mwh;
  facts.power_mw = run.megawatts;
  facts.power_mw_high = run.megawatts_high;
  facts.power_mw_waiting = run.megawatts_waiting;
  facts.load = run.load;
  facts.co2_t = run.co2_tonnes;
  facts.scaling_efficiency = row.efficiency;
  facts.goodput_meta = run.meta_ettr;
  facts.checkpoint = run.checkpoint;
  facts.interruptions = {.expected = run.failures,
                         .mean_time_between_h = run.disruption.mean_time_between.value() / 3600.0,
                         .spare_nodes = run.spare_nodes};
  facts.time = run.time;
  for (const planner::CapacityPhase& phase : row.phases) {
    facts.phases.push_back({.tokens = phase.tokens,
                            .steps = phase.steps,
                            .global_batch = phase.job.global_batch_size,
                            .seq_length = phase.job.seq_length,
                            .layout = brief_name(phase.estimate.layout),
                            .step = step_range_of(phase.estimate)});
  }
}

CapacityRow capacity_row_of(const planner::CapacityAnswer& answer, std::size_t place) {
  const planner::CapacityRow& row = answer.rows[place];
  const planner::ClusterCase& asked = answer.question.clusters[row.cluster_case];
  CapacityRow facts{run_of(row, answer.question.options)};
  facts.id = id_of(answer, row);
  facts.cluster = asked.name;
  facts.cluster_name = asked.cluster.name;
  facts.label = asked.label;
  facts.device = only_device(asked.cluster).name;
  facts.seq_length = row.seq_length;
  facts.recommended = answer.recommendation.recommended == place;
  if (row.fits()) add_run(facts, answer, row);
  return facts;
}

ScalingSeries series_of(const planner::CapacityAnswer& answer,
                        const planner::ScalingSeries& series) {
  ScalingSeries facts{.cluster = answer.question.clusters[series.cluster_case].name,
                      .global_batch = series.global_batch_size,
                      .schedule = series.scheduled,
                      .sentence = bend_of(answer, series)};
  for (const planner::ScalingStep& step : series.steps) {
    facts.steps.push_back({.from_gpus = answer.rows[step.from].gpus,
                           .to_gpus = answer.rows[step.to].gpus,
                           .gain = step.gain,
                           .term = step.term,
                           .share_of_growth = step.share_of_growth});
  }
  if (series.bend) facts.bends_at_gpus = answer.rows[series.steps[*series.bend].to].gpus;
  return facts;
}

// The parts add up to what is stated less the row's.
std::optional<ReferenceFacts> reference_of(const planner::CapacityAnswer& answer) {
  if (!answer.reference) return std::nullopt;
  const planner::ReferenceRun& run = *answer.question.options.reference;
  const planner::ReferenceComparison& comparison = *answer.reference;
  return ReferenceFacts{.name = run.name,
                        .source = run.source,
                        .row = id_of(answer, answer.rows[comparison.row]),
                        .gpus = run.gpus,
                        .stated_gpu_hours = run.gpu_hours,
                        .stated_step = run.step_seconds,
                        .stated_mfu = run.model_flops_utilization,
                        .stated_goodput = run.goodput,
                        .stated_mean_time_between_h = run.mean_time_between_hours,
                        .gpu_hours = comparison.gpu_hours,
                        .schedule_gpu_hours = comparison.schedule_gpu_hours,
                        .parts = comparison.parts};
}

// Cluster and batch of a row, as options.
std::string place_of(const planner::CapacityQuestion& question, const planner::CapacityRow& row) {
  const planner::ClusterCase& asked = question.clusters[row.cluster_case];
  return fmt::format("--cluster {} --global-batch-size {} ",
                     shell_word(asked.file.empty() ? asked.name : asked.file),
                     row.scheduled ? "schedule" : std::to_string(row.asked_batch_size));
}

void add_levers(Capacity& capacity, const planner::CapacityAnswer& answer) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr || answer.levers.levers.empty()) return;
  const std::string place = place_of(question, *front);
  const auto end_of = [&](const std::optional<planner::LeverEnd>& end) {
    return end ? std::optional<LeverEnd>(
                     {run_of(end->row, question.options), end->value, place + end->options})
               : std::nullopt;
  };
  for (const planner::Lever& lever : answer.levers.levers) {
    capacity.levers.push_back({.name = lever.name,
                               .label = lever.label,
                               .unit = lever.unit,
                               .choice = lever.choice,
                               .basis = lever.basis,
                               .relative_spread = lever.relative_spread,
                               .value = lever.value,
                               .swing_days = lever.swing_days,
                               .low = end_of(lever.low),
                               .high = end_of(lever.high)});
  }
  const planner::WhatIfGrid& grid = answer.levers.grid;
  capacity.what_if = {.axes = {.batch_factor = grid.batch_factors,
                               .gpus = grid.gpus,
                               .network_factor = grid.network_factors,
                               .failure_rate = grid.failure_rates}};
  for (const planner::WhatIfCell& cell : grid.cells) {
    capacity.what_if->cells.push_back(
        {run_of(cell.row, question.options), place + planner::options_of(question, cell)});
  }
}

LimitFacts limits_of(const planner::CapacityLimits& limits) {
  LimitFacts facts{.deadline_days = limits.deadline_days,
                   .budget = limits.budget,
                   .max_megawatts = limits.max_megawatts,
                   .max_gpus = limits.max_gpus};
  if (limits.deadline) facts.deadline = planner::date_text(*limits.deadline);
  return facts;
}

std::optional<PriceFacts> prices_of(const planner::PriceList& prices) {
  if (prices.prices.empty()) return std::nullopt;
  return PriceFacts{prices.name, prices.date, prices.currency, prices.example, prices.source};
}

}  // namespace

Capacity capacity_of(const planner::CapacityAnswer& answer, const std::string& command) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::CapacityOptions& options = question.options;
  const planner::Recommendation& choice = answer.recommendation;
  Capacity capacity{.train_tokens = question.tokens(),
                    .tokens_stated = question.train_tokens.has_value(),
                    .command = command,
                    .verdict = verdict_of(answer),
                    .planned = id_of(answer, answer.planned),
                    .recommended = id_of(answer, choice.recommended),
                    .closest = id_of(answer, choice.closest),
                    .reason = choice.reason,
                    .smallest = id_of(answer, choice.smallest),
                    .cheapest = id_of(answer, choice.cheapest),
                    .fastest = id_of(answer, choice.fastest),
                    .limits = limits_of(options.limits),
                    .prices = prices_of(options.prices),
                    .reference = reference_of(answer),
                    .not_included = planner::left_out_of(question)};
  if (options.start) capacity.start = planner::date_text(*options.start);
  for (std::size_t i = 0; i < answer.rows.size(); ++i)
    capacity.rows.push_back(capacity_row_of(answer, i));
  for (const planner::ScalingSeries& series : answer.scaling) {
    capacity.scaling.push_back(series_of(answer, series));
  }
  add_levers(capacity, answer);
  if (const planner::CapacityRow* front = answer.front()) {
    capacity.assumptions = planner::assumptions_of(question, *front);
    capacity.included = planner::included_in(question, *front);
  }
  return capacity;
}

CapacityFile capacity_file_of(const planner::CapacityAnswer& answer, const Origin& origin,
                              const std::string& command) {
  const planner::CapacityQuestion& question = answer.question;
  CapacityFile file{.origin = origin,
                    .model = question.model,
                    .job = question.clusters.front().job,
                    .what_ifs = question.what_ifs,
                    .capacity = capacity_of(answer, command)};
  for (const planner::ClusterCase& asked : question.clusters) {
    if (!asked.note.empty()) file.notes.push_back(asked.note);
    for (const int gpus : question.gpus) {
      if (!node_fill(asked.cluster, gpus)) continue;  // its row says why
      const std::string share = used_share_text(scaled_to(asked.cluster, gpus));
      if (!share.empty()) file.notes.push_back(fmt::format("{}, {}: {}", asked.name, gpus, share));
    }
  }
  return file;
}

}  // namespace meshwright::reports
