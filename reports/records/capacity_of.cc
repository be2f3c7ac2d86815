// SPDX-License-Identifier: Apache-2.0
// The planner's answer as a record: texts and ids are made here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "planner/capacity/limits.h"
#include "reports/records/capacity.h"
#include "reports/text/capacity_text.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
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
  facts.memory_fit = estimate.memory_fit;
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
  facts.added_share = run.added.sum();
  facts.price = row.price;
  facts.kilowatts = row.kilowatts;
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
  return fmt::format("--cluster {} --global-batch-size {} --fixed-batch ",
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
                               .swing_cost = lever.swing_cost,
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

std::vector<FrontierFacts> frontier_of(const planner::CapacityAnswer& answer) {
  std::vector<FrontierFacts> facts;
  for (const planner::FrontierPoint& point : answer.frontier) {
    facts.push_back({.row = id_of(answer, answer.rows[point.row]),
                     .days = point.days,
                     .cost = point.cost,
                     .dominated_by = id_of(answer, point.dominated_by),
                     .reason = point.reason,
                     .slower = id_of(answer, point.slower),
                     .cost_per_day_saved = point.cost_per_day_saved});
  }
  return facts;
}

std::vector<CalendarDay> calendar_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr || !answer.question.train_tokens) return {};
  const planner::CapacityOptions& options = answer.question.options;
  std::vector<CalendarDay> days;
  const auto add = [&](const char* name, const char* label, double day, bool morning = false) {
    CalendarDay facts{
        .name = name, .label = with_device_noun(label, answer.question.device_kind()), .day = day};
    if (options.start) {
      const planner::Date date = morning ? planner::date_after(*options.start, day)
                                         : planner::last_day(*options.start, day);
      facts.date = planner::date_text(date);
    }
    days.push_back(facts);
  };
  const planner::Quantiles& end = front->run.days;
  const std::optional<double> allowed = planner::days_allowed(options);
  const double lead = options.lead_time_days.value_or(0.0);
  if (options.lead_time_days) add("order", "order the GPUs", -lead, true);
  add("start", "start of training", 0.0, true);
  add("p10", "end (P10)", end.p10);
  add("p50", "end (P50)", end.p50);
  add("p90", "end (P90)", end.p90);
  if (allowed) {
    add("deadline", "deadline", *allowed);
    add("latest_start", "latest start that meets the deadline (P90)",
        std::floor(*allowed - end.p90), true);
    if (options.lead_time_days) {
      add("latest_order", "latest order of the GPUs", std::floor(*allowed - end.p90) - lead, true);
    }
  }
  std::stable_sort(days.begin(), days.end(),
                   [](const CalendarDay& a, const CalendarDay& b) { return a.day < b.day; });
  return days;
}

// Productive steps, start, saves, lost work, recovery, restore, and then the other losses.
std::vector<ElapsedPart> elapsed_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityRow* front = answer.front();
  if (front == nullptr || !answer.time_ranges) return {};
  constexpr double kSecondsPerDay = 86400.0;
  const planner::TimeParts& time = front->run.time;
  std::vector<ElapsedPart> parts{{"productive_steps", time.productive.value() / kSecondsPerDay,
                                  answer.time_ranges->productive}};
  const auto add = [&](planner::LostTime kind) {
    if (time[kind].value() == 0.0) return;
    parts.push_back({std::string(planner::name_of(kind)), time[kind].value() / kSecondsPerDay,
                     (*answer.time_ranges)[kind]});
  };
  using planner::LostTime;
  static constexpr std::array kFirst{
      LostTime::program_startup, LostTime::unproductive_checkpoint_save_time,
      LostTime::wasted_progress_from_disruption, LostTime::infrastructure_recovery_from_disruption,
      LostTime::unproductive_checkpoint_restore_time};
  for (const LostTime kind : kFirst) add(kind);
  for (const auto& [kind, name] : planner::kLostTimeNames) {
    if (std::find(kFirst.begin(), kFirst.end(), kind) == kFirst.end()) add(kind);
  }
  return parts;
}

RunInputFacts run_inputs_of(const planner::CapacityOptions& options) {
  const planner::FailureOptions& f = options.failures;
  const planner::CheckpointOptions& c = options.checkpoint;
  return {.failure_rate = f.per_thousand_node_days,
          .detection = f.detection_seconds,
          .restart = f.restart_seconds,
          .pause = c.pause_seconds,
          .storage = c.storage_gb_per_s_per_node,
          .pue = options.power.pue,
          .asynchronous = c.asynchronous,
          .persist = c.persist_seconds,
          .load = c.load_seconds,
          .interval = c.interval_seconds,
          .replicas = f.independent_replicas,
          .catch_up = f.catch_up_seconds.value,
          .repair_days = f.repair_days.value,
          .spares_target = f.spares_target.value,
          .spare_nodes = f.spare_nodes,
          .waiting_over_busy = planner::waiting_over_busy(options.power),
          .step_factor = options.step_factor,
          .day_worth = options.day_worth,
          .lead_time_days = options.lead_time_days};
}

// Clusters, counts, batches, layouts and changes of all rows, as options.
std::string grid_options_of(const planner::CapacityAnswer& answer) {
  const planner::CapacityQuestion& question = answer.question;
  std::string clusters;
  for (const planner::ClusterCase& asked : question.clusters) {
    append_to_list(clusters, ",", asked.file.empty() ? asked.name : asked.file);
  }
  std::string batches;
  if (question.with_schedule && !question.options.schedule.empty()) batches = "schedule";
  for (const int batch : question.global_batch_sizes) {
    append_to_list(batches, ",", std::to_string(batch));
  }
  std::string text = "--cluster " + shell_word(clusters);
  std::set<int> counts;
  for (const planner::CapacityRow& row : answer.rows) counts.insert(row.gpus);
  text += fmt::format(" --gpus {} --fixed-gpus", fmt::join(counts, ","));
  text += " --global-batch-size " + batches;
  if (!question.batch_follows) text += " --fixed-batch";
  for (const planner::StatedLayout& stated : question.layouts) {
    text += fmt::format(" --layout '{}'", short_name(stated.layout));
  }
  if (!question.what_ifs.empty()) {
    text += fmt::format(" --what-if {}", fmt::join(question.what_ifs, ","));
  }
  return text;
}

}  // namespace

LimitFacts limit_facts_of(const planner::CapacityLimits& limits) {
  LimitFacts facts{.deadline_days = limits.deadline_days,
                   .budget = limits.budget,
                   .max_megawatts = limits.max_megawatts,
                   .max_gpus = limits.max_gpus};
  if (limits.deadline) facts.deadline = planner::date_text(*limits.deadline);
  return facts;
}

std::optional<PriceFacts> price_facts_of(const planner::PriceList& prices) {
  if (prices.prices.empty()) return std::nullopt;
  return PriceFacts{prices.name, prices.date, prices.currency, prices.example, prices.source};
}

Capacity capacity_of(const planner::CapacityAnswer& answer, const std::string& command) {
  const planner::CapacityQuestion& question = answer.question;
  const planner::CapacityOptions& options = question.options;
  const planner::Recommendation& choice = answer.recommendation;
  Capacity capacity{.train_tokens = question.tokens(),
                    .tokens_stated = question.train_tokens.has_value(),
                    .device_kind = question.device_kind(),
                    .command = command,
                    .verdict = verdict_of(answer),
                    .headline = headline_of(answer),
                    .why_not_fewer = why_not_fewer(answer),
                    .why_not_more = why_not_more(answer),
                    .weakest_point = weakest_point(answer),
                    .tags = tags_of(answer),
                    .tried = tried_text(answer),
                    .grid_options = grid_options_of(answer),
                    .planned = id_of(answer, answer.planned),
                    .recommended = id_of(answer, choice.recommended),
                    .closest = id_of(answer, choice.closest),
                    .reason = choice.reason,
                    .smallest = id_of(answer, choice.smallest),
                    .cheapest = id_of(answer, choice.cheapest),
                    .fastest = id_of(answer, choice.fastest),
                    .limits = limit_facts_of(options.limits),
                    .prices = price_facts_of(options.prices),
                    .reference = reference_of(answer),
                    .frontier = frontier_of(answer),
                    .risks = answer.risks,
                    .calendar = calendar_of(answer),
                    .elapsed = elapsed_of(answer),
                    .goodput_curves = answer.goodput_curves,
                    .run_inputs = run_inputs_of(options),
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
