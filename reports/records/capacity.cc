// SPDX-License-Identifier: Apache-2.0
#include "reports/records/capacity.h"

#include <algorithm>

#include "sim/json/input_records.h"

namespace meshwright::reports {
namespace {

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
    r.row(&R::swing_cost, "swing_cost", kind::number(), "0: no price.");
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
    r.row(&R::row, "row", kind::text(), kRowIdAbout);
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

}  // namespace

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

namespace {

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
        ranged_facts_record(), [](auto& assumption) -> auto& { return assumption.amount; });
    return r.named("CapacityAssumption").all_required();
  }();
  return record;
}

const Record<FrontierFacts>& frontier_record() {
  static const Record<FrontierFacts> record = [] {
    using R = FrontierFacts;
    Record<R> r("A row among the others, in median days and cost.");
    const auto id = kind::nullable(kind::text());
    r.row(&R::row, "row", kind::text(), kRowIdAbout);
    r.row(&R::days, "days", kind::number(), "");
    r.row(&R::cost, "cost", kind::number(), "GPU-hours where not every row has a price.");
    r.row(&R::dominated_by, "dominated_by", id,
          "A row that is as fast and as cheap, and better in one; null: on the frontier.");
    r.row(&R::reason, "reason", kind::text(), "Why it is dominated, where that is known.");
    r.row(&R::slower, "slower", id, "The next slower row of the frontier.");
    r.row(&R::cost_per_day_saved, "cost_per_day_saved", kind::nullable(kind::number(kAnyNumber)),
          "Additional cost over days saved, both relative to the slower row.");
    return r.named("FrontierPoint").all_required();
  }();
  return record;
}

const Record<planner::Risk>& risk_record() {
  static const Record<planner::Risk> record = [] {
    using R = planner::Risk;
    Record<R> r("What can make the row late or dear; days and cost relative to its medians.");
    const auto more = kind::nullable(kind::number(kAnyNumber));
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::what, "what", kind::text(), "");
    r.row(&R::how_likely, "how_likely", kind::text(), "");
    r.row(&R::days, "days", more, "Null: not modelled.");
    r.row(&R::cost, "cost", more, "Null: not modelled, or no price.");
    r.row(&R::settled_by, "settled_by", kind::text(), "");
    return r.named("Risk").all_required();
  }();
  return record;
}

const Record<CalendarDay>& calendar_record() {
  static const Record<CalendarDay> record = [] {
    using R = CalendarDay;
    Record<R> r("A day of the run.");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::label, "label", kind::text(), "");
    r.row(&R::day, "day", kind::number(kAnyNumber), "Days from the start.");
    r.row(&R::date, "date", kind::nullable(kind::text()), "Null: no start is stated.");
    return r.named("CalendarDay").all_required();
  }();
  return record;
}

const Record<RunInputFacts>& run_inputs_record() {
  static const Record<RunInputFacts> record = [] {
    using R = RunInputFacts;
    Record<R> r(
        "Inputs of the closed forms that all rows share. With a row's phases, checkpoint, price "
        "and "
        "power they give its days, cost and energy again.");
    const auto ranged = kind::object(ranged_facts_record);
    const auto number = kind::nullable(kind::number());
    r.row(&R::failure_rate, "failure_rate", ranged, "Per 1,000 node-days.");
    r.row(&R::detection, "detection_s", ranged, "");
    r.row(&R::restart, "restart_s", ranged, "");
    r.row(&R::pause, "pause_s", ranged, "Of an asynchronous save.");
    r.row(&R::storage, "storage_gb_per_s_per_node", ranged, "");
    r.row(&R::pue, "pue", ranged, "");
    r.row(&R::asynchronous, "asynchronous", kind::flag(), "");
    r.row(&R::persist, "persist_s", number, "Null: from bytes and storage.");
    r.row(&R::load, "load_s", number, "Null: from bytes and storage.");
    r.row(&R::interval, "interval_s", number, "Null: the best one.");
    r.row(&R::replicas, "replicas", kind::integer(), "");
    r.row(&R::catch_up, "catch_up_s", kind::number(), "");
    r.row(&R::repair_days, "repair_days", kind::number(), "");
    r.row(&R::spares_target, "spares_target", kind::number(), "");
    r.row(&R::spare_nodes, "spare_nodes", kind::nullable(kind::integer({.low = 0})),
          "Null: as many as the target needs.");
    r.row(&R::waiting_over_busy, "waiting_over_busy", kind::number(),
          "Power while waiting over power while computing.");
    r.row(&R::step_factor, "step_factor", kind::number(),
          "Expected step over predicted step; steps of the rows contain it.");
    r.row(&R::day_worth, "day_worth", number, "Of a day that the run ends earlier.");
    r.row(&R::lead_time_days, "lead_time_days", number, "From the order to the start.");
    return r.named("RunInputs").all_required();
  }();
  return record;
}

}  // namespace

const CapacityRow* Capacity::front() const {
  for (const auto* id : {&recommended, &closest, &planned, &cheapest}) {
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
        "what moves it. p10, p50, p90: quantiles. Each name ends in its unit.");
    const auto id = kind::nullable(kind::text());
    r.row(&R::train_tokens, "train_tokens", kind::number(), "");
    r.row(&R::tokens_stated, "tokens_stated", kind::flag(),
          "False: nobody stated a training length, and train_tokens is a round number.");
    r.row(&R::device_kind, "device_kind", kind::choice(kDeviceKindNames),
          "cpu: all clusters' devices are cores.");
    r.row(&R::start, "start", kind::nullable(kind::text()), "");
    r.row(&R::command, "command", kind::text(), "");
    r.row(&R::headline, "headline", kind::text(), "The decision in one line.");
    r.row(&R::why_not_fewer, "why_not_fewer", kind::text(), "Empty: there is no smaller option.");
    r.row(&R::why_not_more, "why_not_more", kind::text(), "Empty: there is no larger option.");
    r.row(&R::weakest_point, "weakest_point", kind::text(),
          "The input that was not measured and changes the end most.");
    r.row(&R::tags, "tags", kind::texts(), "What the numbers are not.");
    r.row(&R::grid_options, "grid_options", kind::text(),
          "Behind the command: makes all rows again.");
    r.row(&R::verdict, "verdict", kind::text(), "");
    r.row(&R::planned, "planned", id, kRowIdAbout);
    r.row(&R::recommended, "recommended", id, kRowIdAbout);
    r.row(&R::closest, "closest", id, kRowIdAbout);
    r.row(&R::reason, "reason", kind::text(), "");
    r.row(&R::smallest, "smallest", id, kRowIdAbout);
    r.row(&R::cheapest, "cheapest", id, kRowIdAbout);
    r.row(&R::fastest, "fastest", id, kRowIdAbout);
    r.row(&R::limits, "limits", kind::object(capacity_limits_record), "");
    r.row(&R::prices, "prices", kind::nullable(kind::object(capacity_prices_record)), "");
    r.row(&R::rows, "rows", kind::list(capacity_row_record), "");
    r.row(&R::scaling, "scaling", kind::list(scaling_series_record), "");
    r.row(&R::reference, "reference", kind::nullable(kind::object(reference_record)), "");
    r.row(&R::levers, "levers", kind::list(lever_record), "Largest swing of days first.");
    r.row(&R::what_if, "what_if", kind::nullable(kind::object(what_if_grid_record)), "");
    r.row(&R::frontier, "frontier", kind::list(frontier_record), "Slowest first.");
    r.row(&R::risks, "risks", kind::list(risk_record), "");
    r.row(&R::calendar, "calendar", kind::list(calendar_record), "");
    r.row(&R::elapsed, "elapsed", kind::list(elapsed_part_record),
          "Parts of the elapsed time of the row in front; the expected days add up to its "
          "time.elapsed_s.");
    r.row(&R::goodput_curves, "goodput_curves", kind::nullable(kind::object(goodput_curves_record)),
          "Null: no layout fits.");
    r.row(&R::run_inputs, "run_inputs", kind::object(run_inputs_record), "");
    r.row(&R::assumptions, "assumptions", kind::list(assumption_record), "");
    r.row(&R::included, "included", kind::texts(), "What the ranges include.");
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
    r.row(&R::notes, "notes", kind::texts(), "What was not measured, or is used in part.");
    r.written_if([](const R& file) { return !file.notes.empty(); });
    r.row(&R::capacity, "capacity", kind::object(capacity_record), "");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
