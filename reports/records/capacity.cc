// SPDX-License-Identifier: Apache-2.0
#include "reports/records/capacity.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/capacity_text.h"
#include "reports/text.h"
#include "sim/json/input_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kIdAbout = "Of a row: cluster/gpus/global_batch, or .../schedule.";

const Record<planner::Quantiles>& quantiles_record() {
  static const Record<planner::Quantiles> record = [] {
    using R = planner::Quantiles;
    Record<R> r("");
    r.row(&R::p10, "p10", kind::number(kAnyNumber), "");
    r.row(&R::p50, "p50", kind::number(kAnyNumber), "");
    r.row(&R::p90, "p90", kind::number(kAnyNumber), "");
    return r.named("Quantiles").all_required();
  }();
  return record;
}

const Record<DateQuantiles>& date_quantiles_record() {
  static const Record<DateQuantiles> record = [] {
    using R = DateQuantiles;
    Record<R> r("Days of the calendar on which the run ends.");
    r.row(&R::p10, "p10", kind::text(), "");
    r.row(&R::p50, "p50", kind::text(), "");
    r.row(&R::p90, "p90", kind::text(), "");
    return r.named("DateQuantiles").all_required();
  }();
  return record;
}

const Record<StepRange>& step_range_record() {
  static const Record<StepRange> record = [] {
    using R = StepRange;
    Record<R> r("Seconds, nominal 90 % interval.");
    r.row(&R::low, "low", kind::base_amount<Seconds>(), "");
    r.row(&R::mid, "mid", kind::base_amount<Seconds>(), "");
    r.row(&R::high, "high", kind::base_amount<Seconds>(), "");
    return r.named("StepRange").all_required();
  }();
  return record;
}

const Record<planner::CostParts>& cost_parts_record() {
  static const Record<planner::CostParts> record = [] {
    using R = planner::CostParts;
    Record<R> r("");
    r.row(&R::gpus, "gpus", kind::integer({.low = 0}), "GPUs that train.");
    r.row(&R::spare_nodes, "spare_nodes", kind::integer({.low = 0}),
          "Nodes of eight GPUs that wait for a failure and are paid for.");
    r.derived<int>("spare_gpus", kind::integer({.low = 0}), "GPUs of the spare nodes.",
                   &R::spare_gpus);
    r.row(&R::hours, "hours", kind::number(), "Median elapsed time.");
    r.row(&R::price, "price_per_gpu_hour", kind::number(), "Price without its range.");
    r.row(&R::range_factor, "range_factor", kind::number(),
          "The median of a product over the product of the medians; 1 where the price has no "
          "range.");
    return r.named("CostParts").all_required();
  }();
  return record;
}

const Record<CostFacts>& capacity_cost_record() {
  static const Record<CostFacts> record = [] {
    using R = CostFacts;
    Record<R> r(
        "Median: p50 = (parts.gpus + parts.spare_gpus) x parts.hours x parts.price_per_gpu_hour x "
        "parts.range_factor.");
    r.rows_of(quantiles_record());
    r.row(&R::currency, "currency", kind::text(), "");
    r.row(&R::parts, "parts", kind::object(cost_parts_record), "");
    return r.named("CapacityCost").all_required();
  }();
  return record;
}

const Record<RunFacts>& fitting_run_record() {
  static const Record<RunFacts> record = [] {
    using R = RunFacts;
    Record<R> r("");
    r.row(&R::layout, "layout", kind::text(), "");
    r.row(&R::step, "step_s", kind::object(step_range_record), "");
    r.row(&R::mfu, "mfu", kind::number(), kMfuConvention);
    r.row(&R::memory_share, "memory_share", kind::number(), "Of the fullest device's memory.");
    r.row(&R::goodput, "goodput", kind::fraction(true), "");
    r.row(&R::effective_tokens_per_second, "effective_tokens_per_second",
          kind::object(quantiles_record), "Over the elapsed time.");
    r.row(&R::days, "days", kind::object(quantiles_record), "");
    r.row(&R::done, "done", kind::nullable(kind::object(date_quantiles_record)),
          "Null: no start is stated.");
    r.row(&R::gpu_hours, "gpu_hours", kind::object(quantiles_record), "");
    r.row(&R::cost, "cost", kind::nullable(kind::object(capacity_cost_record)), "Null: no price.");
    r.row(&R::energy_mwh, "energy_mwh", kind::nullable(kind::number()), "");
    return r.all_required();
  }();
  return record;
}

const Record<RunFacts>& run_facts_record() {
  static const Record<RunFacts> record = [] {
    using R = RunFacts;
    Record<R> r("");
    r.row(&R::gpus, "gpus", kind::integer(), "");
    r.row(&R::global_batch, "global_batch", kind::integer(), "");
    r.row(&R::schedule, "schedule", kind::flag(),
          "Whether the batch follows the question's schedule.");
    r.row(&R::fits, "fits", kind::flag(), "");
    r.row(&R::limits, "limits", kind::texts(),
          "In words: limits that fail, or why no layout fits; empty: all are kept.");
    const Record<R>::Test fits = [](const R& run) { return run.fits; };
    r.rows_of(fitting_run_record(), fits);
    return r.all_required();
  }();
  return record;
}

const Record<planner::CheckpointPlan>& checkpoint_record() {
  static const Record<planner::CheckpointPlan> record = [] {
    using R = planner::CheckpointPlan;
    Record<R> r("");
    r.row(&R::size, "bytes", kind::base_amount<Bytes>(), "");
    r.row(&R::interval, "interval_s", kind::base_amount<Seconds>(), "");
    r.row(&R::young_interval, "young_interval_s", kind::base_amount<Seconds>(), "");
    r.row(&R::pause, "pause_s", kind::base_amount<Seconds>(), "");
    r.row(&R::persist, "persist_s", kind::base_amount<Seconds>(), "");
    r.row(&R::load, "load_s", kind::base_amount<Seconds>(), "");
    return r.named("CheckpointPlan").all_required();
  }();
  return record;
}

const Record<Interruptions>& interruptions_record() {
  static const Record<Interruptions> record = [] {
    using R = Interruptions;
    Record<R> r("");
    r.row(&R::expected, "expected", kind::object(quantiles_record), "");
    r.row(&R::mean_time_between_h, "mean_time_between_h", kind::number(), "");
    r.row(&R::spare_nodes, "spare_nodes", kind::integer({.low = 0}), "");
    return r.named("Interruptions").all_required();
  }();
  return record;
}

const Record<planner::TimeParts>& time_parts_record() {
  static const Record<planner::TimeParts> record = [] {
    using R = planner::TimeParts;
    Record<R> r(
        "productive_s and lost_s add up to elapsed_s. Names of Google's ml-goodput-measurement.");
    r.row(&R::elapsed, "elapsed_s", kind::base_amount<Seconds>(), "");
    r.row(&R::productive, "productive_s", kind::base_amount<Seconds>(), "");
    r.row(&R::lost, "lost_s", kind::amount_by_name<Seconds>(planner::kLostTimeNames), "");
    return r.named("TimeParts").all_required();
  }();
  return record;
}

const Record<PhaseFacts>& capacity_phase_record() {
  static const Record<PhaseFacts> record = [] {
    using R = PhaseFacts;
    Record<R> r("");
    r.row(&R::tokens, "tokens", kind::number(), "");
    r.row(&R::steps, "steps", kind::number(), "");
    r.row(&R::global_batch, "global_batch", kind::integer(), "");
    r.row(&R::seq_length, "seq_length", kind::integer(), "");
    r.row(&R::layout, "layout", kind::text(), "");
    r.row(&R::step, "step_s", kind::object(step_range_record), "");
    return r.named("CapacityPhase").all_required();
  }();
  return record;
}

const Record<CapacityRow>& fitting_row_record() {
  static const Record<CapacityRow> record = [] {
    using R = CapacityRow;
    Record<R> r("");
    r.derived<std::string>("layout_name", kind::text(), "",
                           [](const R& row) { return short_name(row.layout_record); });
    r.row(&R::layout_record, "layout_record", kind::object(layout_record), "");
    r.row(&R::tokens_per_second, "tokens_per_second", kind::number(), "");
    r.row(&R::memory_gib, "memory_gib", kind::number(), "");
    r.row(&R::provenance, "provenance", kind::choice(kProvenanceNames), "");
    r.row(&R::terms, "terms_s", kind::numbers_by_name(kNotNegative), "");
    r.row(&R::cost_explanation, "cost_explanation", kind::text(),
          "The median cost as a product of its parts; empty: no price.");
    r.row(&R::energy_mwh_range, "energy_mwh_range", kind::nullable(kind::object(quantiles_record)),
          "");
    r.row(&R::power_mw, "power_mw", kind::nullable(kind::number()), "");
    r.row(&R::power_mw_high, "power_mw_high", kind::nullable(kind::number()), "");
    r.row(&R::power_mw_waiting, "power_mw_waiting", kind::nullable(kind::number()), "");
    r.row(&R::load, "load", kind::fraction(true), "Share of the steps in which devices compute.");
    r.row(&R::co2_t, "co2_t", kind::nullable(kind::object(quantiles_record)), "");
    r.row(&R::scaling_efficiency, "scaling_efficiency", kind::number(), "");
    r.row(&R::goodput_meta, "goodput_meta", kind::nullable(kind::number(kAnyNumber)),
          "Meta's closed form; null where failures come too often for it.");
    r.row(&R::checkpoint, "checkpoint", kind::object(checkpoint_record), "");
    r.row(&R::interruptions, "interruptions", kind::object(interruptions_record), "");
    r.row(&R::time, "time", kind::object(time_parts_record), "");
    r.row(&R::phases, "phases", kind::list(capacity_phase_record), "");
    return r.all_required();
  }();
  return record;
}

const Record<CapacityRow>& capacity_row_record() {
  static const Record<CapacityRow> record = [] {
    using R = CapacityRow;
    Record<R> r("");
    r.row(&R::id, "id", kind::text(), kIdAbout);
    r.row(&R::cluster, "cluster", kind::text(), "");
    r.row(&R::cluster_name, "cluster_name", kind::text(), "");
    r.row(&R::device, "device", kind::text(), "");
    r.row(&R::seq_length, "seq_length", kind::integer(), "");
    r.row(&R::recommended, "recommended", kind::flag(), "");
    r.rows_of(run_facts_record());
    const Record<R>::Test fits = [](const R& row) { return row.fits; };
    r.rows_of(fitting_row_record(), fits);
    return r.named("CapacityRow").all_required();
  }();
  return record;
}

constexpr std::string_view kOptionsAbout = "Behind the command: makes this entry's numbers again.";

const Record<LeverEnd>& lever_end_record() {
  static const Record<LeverEnd> record = [] {
    using R = LeverEnd;
    Record<R> r("");
    r.row(&R::value, "value", kind::number(kAnyNumber), "");
    r.row(&R::options, "options", kind::text(), kOptionsAbout);
    r.rows_of(run_facts_record());
    return r.named("LeverEnd").all_required();
  }();
  return record;
}

const Record<Lever>& lever_record() {
  static const Record<Lever> record = [] {
    using R = Lever;
    Record<R> r(
        "A choice is halved and doubled, anything else turned by one standard deviation of its "
        "own.");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::label, "label", kind::text(), "");
    r.row(&R::unit, "unit", kind::text(), "");
    r.row(&R::choice, "choice", kind::flag(), "");
    r.row(&R::basis, "basis", kind::text(), "");
    r.row(&R::relative_spread, "relative_spread", kind::number(), "");
    r.row(&R::value, "value", kind::number(kAnyNumber), "");
    r.row(&R::swing_days, "swing_days", kind::number(), "");
    r.row(&R::low, "low", kind::nullable(kind::object(lever_end_record)), "");
    r.row(&R::high, "high", kind::nullable(kind::object(lever_end_record)), "");
    return r.named("Lever").all_required();
  }();
  return record;
}

const Record<WhatIfAxes>& what_if_axes_record() {
  static const Record<WhatIfAxes> record = [] {
    using R = WhatIfAxes;
    Record<R> r("");
    r.row(&R::batch_factor, "batch_factor", kind::numbers(), "");
    r.row(&R::gpus, "gpus", kind::integers(), "");
    r.row(&R::network_factor, "network_factor", kind::numbers(), "");
    r.row(&R::failure_rate, "failure_rate", kind::numbers(), "Per 1,000 node-days.");
    return r.named("WhatIfAxes").all_required();
  }();
  return record;
}

const Record<WhatIfCell>& what_if_cell_record() {
  static const Record<WhatIfCell> record = [] {
    using R = WhatIfCell;
    Record<R> r("");
    r.rows_of(run_facts_record());
    r.row(&R::options, "options", kind::text(), kOptionsAbout);
    return r.named("WhatIfCell").all_required();
  }();
  return record;
}

const Record<WhatIfGrid>& what_if_grid_record() {
  static const Record<WhatIfGrid> record = [] {
    using R = WhatIfGrid;
    Record<R> r("");
    r.row(&R::axes, "axes", kind::object(what_if_axes_record), "");
    r.derived<std::vector<std::string>>(
        "order", kind::texts(), "Axes, outermost first: cells are in this order.", [](const R&) {
          return std::vector<std::string>{"batch_factor", "gpus", "network_factor", "failure_rate"};
        });
    r.row(&R::cells, "cells", kind::list(what_if_cell_record), "");
    return r.named("WhatIfGrid").all_required();
  }();
  return record;
}

const Record<ScalingStep>& scaling_step_record() {
  static const Record<ScalingStep> record = [] {
    using R = ScalingStep;
    Record<R> r("");
    r.row(&R::from_gpus, "from_gpus", kind::integer(), "");
    r.row(&R::to_gpus, "to_gpus", kind::integer(), "");
    r.row(&R::gain, "gain", kind::number(kAnyNumber), "");
    r.row(&R::term, "term", kind::text(), "");
    r.row(&R::share_of_growth, "share_of_growth", kind::number(kAnyNumber), "");
    return r.named("ScalingStep").all_required();
  }();
  return record;
}

const Record<ScalingSeries>& scaling_series_record() {
  static const Record<ScalingSeries> record = [] {
    using R = ScalingSeries;
    Record<R> r("");
    r.row(&R::cluster, "cluster", kind::text(), "");
    r.row(&R::global_batch, "global_batch", kind::integer(), "");
    r.row(&R::schedule, "schedule", kind::flag(), "");
    r.row(&R::steps, "steps", kind::list(scaling_step_record), "");
    r.row(&R::bends_at_gpus, "bends_at_gpus", kind::nullable(kind::integer()), "");
    r.row(&R::sentence, "sentence", kind::text(), "Empty: it does not bend.");
    return r.named("ScalingSeries").all_required();
  }();
  return record;
}

const Record<planner::ReferencePart>& reference_part_record() {
  static const Record<planner::ReferencePart> record = [] {
    using R = planner::ReferencePart;
    Record<R> r("");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::gpu_hours, "gpu_hours", kind::number(kAnyNumber), "");
    r.row(&R::sentence, "sentence", kind::text(), "");
    return r.named("ReferencePart").all_required();
  }();
  return record;
}

const Record<ReferenceFacts>& reference_record() {
  static const Record<ReferenceFacts> record = [] {
    using R = ReferenceFacts;
    Record<R> r(
        "A row beside a run that somebody made. gpu_hours and the parts add up to "
        "stated_gpu_hours.");
    const auto stated = kind::nullable(kind::number());
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    r.row(&R::row, "row", kind::text(), kIdAbout);
    r.row(&R::gpus, "gpus", kind::integer(), "");
    r.row(&R::stated_gpu_hours, "stated_gpu_hours", kind::number(), "");
    r.row(&R::stated_step, "stated_step_s", stated, "");
    r.row(&R::stated_mfu, "stated_mfu", stated, "");
    r.row(&R::stated_goodput, "stated_goodput", stated, "");
    r.row(&R::stated_mean_time_between_h, "stated_mean_time_between_h", stated, "");
    r.row(&R::gpu_hours, "gpu_hours", kind::number(), "");
    r.row(&R::schedule_gpu_hours, "schedule_gpu_hours", kind::nullable(kind::number(kAnyNumber)),
          "What the schedule takes more than the last phase's batch for all tokens; null: it is "
          "one of the parts.");
    r.row(&R::parts, "parts", kind::list(reference_part_record), "");
    return r.named("ReferenceRun").all_required();
  }();
  return record;
}

const Record<LimitFacts>& capacity_limits_record() {
  static const Record<LimitFacts> record = [] {
    using R = LimitFacts;
    Record<R> r("");
    const auto limit = kind::nullable(kind::number());
    r.row(&R::deadline_days, "deadline_days", limit, "");
    r.row(&R::deadline, "deadline", kind::nullable(kind::text()), "");
    r.row(&R::budget, "budget", limit, "");
    r.row(&R::max_megawatts, "max_megawatts", limit, "");
    r.row(&R::max_gpus, "max_gpus", kind::nullable(kind::integer()), "");
    return r.named("CapacityLimits").all_required();
  }();
  return record;
}

const Record<PriceFacts>& capacity_prices_record() {
  static const Record<PriceFacts> record = [] {
    using R = PriceFacts;
    Record<R> r("");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::date, "date", kind::text(), "");
    r.row(&R::currency, "currency", kind::text(), "");
    r.row(&R::example, "example", kind::flag(), "An example and no offer.");
    r.row(&R::source, "source", kind::text(), "");
    return r.named("PriceList").all_required();
  }();
  return record;
}

const Record<planner::Ranged>& ranged_record() {
  static const Record<planner::Ranged> record = [] {
    using R = planner::Ranged;
    Record<R> r("");
    r.row(&R::value, "value", kind::number(kAnyNumber), "");
    r.row(&R::low, "low", kind::number(kAnyNumber), "");
    r.row(&R::high, "high", kind::number(kAnyNumber), "");
    r.row(&R::basis, "basis", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    return r.all_required();
  }();
  return record;
}

const Record<planner::Assumption>& assumption_record() {
  static const Record<planner::Assumption> record = [] {
    using R = planner::Assumption;
    Record<R> r("");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::label, "label", kind::text(), "");
    r.row(&R::unit, "unit", kind::text(), "");
    r.row(&R::in_interval, "in_interval", kind::flag(),
          "Whether its range is part of days and cost.");
    r.rows_of(
        ranged_record(), [](auto& assumption) -> auto& { return assumption.amount; });
    return r.named("CapacityAssumption").all_required();
  }();
  return record;
}

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

const CapacityRow* Capacity::front() const {
  for (const auto* id : {&planned, &recommended, &closest}) {
    if (const CapacityRow* found = row(*id)) return found;
  }
  return nullptr;
}

const CapacityRow* Capacity::row(const std::optional<std::string>& id) const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const CapacityRow& each) { return each.id == id; });
  return found == rows.end() ? nullptr : &*found;
}

std::string Capacity::currency() const {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [](const CapacityRow& row) { return row.cost.has_value(); });
  return found == rows.end() ? "" : found->cost->currency;
}

const Record<Capacity>& capacity_record() {
  static const Record<Capacity> record = [] {
    using R = Capacity;
    Record<R> r(
        "Rows of clusters, GPU counts and batches with days, cost and energy, the row to take, and "
        "what moves it. p10, p50, p90: quantiles. Units stand in the names.");
    const auto id = kind::nullable(kind::text());
    r.row(&R::train_tokens, "train_tokens", kind::number(), "");
    r.row(&R::tokens_stated, "tokens_stated", kind::flag(),
          "False: nobody stated a training length, and train_tokens is a round number.");
    r.row(&R::start, "start", kind::nullable(kind::text()), "");
    r.row(&R::command, "command", kind::text(), "");
    r.row(&R::verdict, "verdict", kind::text(), "");
    r.row(&R::planned, "planned", id, kIdAbout);
    r.row(&R::recommended, "recommended", id, kIdAbout);
    r.row(&R::closest, "closest", id, kIdAbout);
    r.row(&R::reason, "reason", kind::text(), "");
    r.row(&R::smallest, "smallest", id, kIdAbout);
    r.row(&R::cheapest, "cheapest", id, kIdAbout);
    r.row(&R::fastest, "fastest", id, kIdAbout);
    r.row(&R::limits, "limits", kind::object(capacity_limits_record), "");
    r.row(&R::prices, "prices", kind::nullable(kind::object(capacity_prices_record)), "");
    r.row(&R::rows, "rows", kind::list(capacity_row_record), "");
    r.row(&R::scaling, "scaling", kind::list(scaling_series_record), "");
    r.row(&R::reference, "reference", kind::nullable(kind::object(reference_record)), "");
    r.row(&R::levers, "levers", kind::list(lever_record), "Largest swing of days first.");
    r.row(&R::what_if, "what_if", kind::nullable(kind::object(what_if_grid_record)), "");
    r.row(&R::assumptions, "assumptions", kind::list(assumption_record), "");
    r.row(&R::included, "included", kind::texts(), "What the ranges hold.");
    r.row(&R::not_included, "not_included", kind::texts(), "");
    return r.named("Capacity").all_required();
  }();
  return record;
}

const Record<CapacityFile>& capacity_file_record() {
  static const Record<CapacityFile> record = [] {
    using R = CapacityFile;
    Record<R> r("What meshwright capacity --out writes.");
    r.file_of({std::string(kCapacitySchema)}, true);
    r.rows_of(
        origin_record(), [](auto& file) -> auto& { return file.origin; });
    r.row(&R::model, "model", kind::object(model_record), "");
    r.row(&R::job, "job", kind::object(job_record), "");
    r.row(&R::what_ifs, "what_ifs", kind::texts(), "As typed, of every row.");
    r.row(&R::notes, "notes", kind::texts(), "What the profiles of clusters did not measure.");
    r.written_if([](const R& file) { return !file.notes.empty(); });
    r.row(&R::capacity, "capacity", kind::object(capacity_record), "");
    return r.all_required();
  }();
  return record;
}

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
  }
  return file;
}

}  // namespace meshwright::reports
