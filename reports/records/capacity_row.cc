// SPDX-License-Identifier: Apache-2.0
// The rows of one run and of one row of the grid.
#include "reports/records/capacity.h"
#include "reports/text/text.h"
#include "sim/json/input_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {

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

namespace {

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
    r.row(&R::memory_share, "memory_share", kind::number(),
          "Of the memory of the device that needs most.");
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

const Record<planner::GoodputCurve>& goodput_curve_record() {
  static const Record<planner::GoodputCurve> record = [] {
    using R = planner::GoodputCurve;
    Record<R> r("Goodput with one restart time.");
    r.row(&R::restart, "restart_s", kind::base_amount<Seconds>(), "");
    r.row(&R::goodput, "goodput", kind::numbers(kNotNegative), "One for each count of GPUs.");
    return r.named("GoodputCurve").all_required();
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
    r.row(&R::added_share, "added_share", kind::number(),
          "Evaluation and waiting for the slowest node, as a share of the steps' time.");
    r.row(&R::price, "price_per_gpu_hour", kind::nullable(kind::object(ranged_facts_record)), "");
    r.row(&R::kilowatts, "kilowatts_per_gpu", kind::nullable(kind::object(ranged_facts_record)),
          "While it computes, with its share of the node, without the PUE.");
    r.row(&R::time, "time", kind::object(time_parts_record), "");
    r.row(&R::phases, "phases", kind::list(capacity_phase_record), "");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<ElapsedPart>& elapsed_part_record() {
  static const Record<ElapsedPart> record = [] {
    using R = ElapsedPart;
    Record<R> r("A part of the elapsed time.");
    r.row(&R::name, "name", kind::text(), "productive_steps, or a key of lost_s.");
    r.row(&R::days, "days", kind::number(kAnyNumber), "Expected, at the predicted inputs.");
    r.row(&R::range, "range_days", kind::object(quantiles_record),
          "Over what the inputs may be; when failures come is not varied.");
    return r.named("ElapsedPart").all_required();
  }();
  return record;
}

const Record<planner::GoodputCurves>& goodput_curves_record() {
  static const Record<planner::GoodputCurves> record = [] {
    using R = planner::GoodputCurves;
    Record<R> r(
        "Goodput of the row in front on other GPU counts and with other restart times; the "
        "productive GPU-time stays the row's.");
    r.row(&R::gpus, "gpus", kind::integers(), "Ascending.");
    r.row(&R::curves, "curves", kind::list(goodput_curve_record), "Shortest restart first.");
    return r.named("GoodputCurves").all_required();
  }();
  return record;
}

const Record<planner::Ranged>& ranged_facts_record() {
  static const Record<planner::Ranged> record = [] {
    using R = planner::Ranged;
    Record<R> r("A number and its 90 % interval.");
    r.row(&R::value, "value", kind::number(kAnyNumber), "");
    r.row(&R::low, "low", kind::number(kAnyNumber), "");
    r.row(&R::high, "high", kind::number(kAnyNumber), "");
    r.row(&R::basis, "basis", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    return r.named("RangedNumber").all_required();
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

const Record<CapacityRow>& capacity_row_record() {
  static const Record<CapacityRow> record = [] {
    using R = CapacityRow;
    Record<R> r("");
    r.row(&R::id, "id", kind::text(), kRowIdAbout);
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

}  // namespace meshwright::reports
