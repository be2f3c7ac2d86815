// SPDX-License-Identifier: Apache-2.0
// The rows of one run and of one row of the grid.
#include "reports/records/capacity.h"
#include "reports/text/text.h"
#include "sim/json/input_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {

const Record<planner::Quantiles>& quantiles_record() {
  return described([](Record<planner::Quantiles>& r) {
    using R = planner::Quantiles;
    r.row<&R::p10>(kAnyNumber);
    r.row<&R::p50>(kAnyNumber);
    r.row<&R::p90>(kAnyNumber);
    r.named("Quantiles").all_required();
  });
}

const Record<DateQuantiles>& date_quantiles_record() {
  return described([](Record<DateQuantiles>& r) {
    using R = DateQuantiles;
    r.about("Days of the calendar on which the run ends.");
    r.rows<&R::p10, &R::p50, &R::p90>();
    r.named("DateQuantiles").all_required();
  });
}

const Record<StepRange>& step_range_record() {
  return described([](Record<StepRange>& r) {
    using R = StepRange;
    r.about("Seconds, nominal 90 % interval.");
    r.row<&R::low>("low", "");
    r.row<&R::mid>("mid", "");
    r.row<&R::high>("high", "");
    r.named("StepRange").all_required();
  });
}

namespace {

const Record<planner::CostParts>& cost_parts_record() {
  return described([](Record<planner::CostParts>& r) {
    using R = planner::CostParts;
    r.row<&R::gpus>(IntRange{.low = 0}, "GPUs that train.");
    r.row<&R::spare_nodes>(IntRange{.low = 0},
                           "Nodes of eight GPUs that wait for a failure and are paid for.");
    r.derived<int>("spare_gpus", kind::integer({.low = 0}), "GPUs of the spare nodes.",
                   &R::spare_gpus);
    r.row<&R::hours>("Median elapsed time.");
    r.row<&R::price>("price_per_gpu_hour", "Price without its range.");
    r.row<&R::range_factor>(
        "The median of a product over the product of the medians; 1 where the price has no "
        "range.");
    r.named("CostParts").all_required();
  });
}

const Record<CostFacts>& capacity_cost_record() {
  return described([](Record<CostFacts>& r) {
    using R = CostFacts;
    r.about(
        "Median: p50 = (parts.gpus + parts.spare_gpus) x parts.hours x parts.price_per_gpu_hour x "
        "parts.range_factor.");
    r.rows_of(quantiles_record());
    r.row<&R::currency>();
    r.row<&R::parts>(cost_parts_record);
    r.named("CapacityCost").all_required();
  });
}

const Record<RunFacts>& fitting_run_record() {
  return described([](Record<RunFacts>& r) {
    using R = RunFacts;
    r.row<&R::layout>();
    r.row<&R::step>("step_s", step_range_record);
    r.row<&R::mfu>(kMfuConvention);
    r.row<&R::memory_share>("Of the memory of the device that needs most.");
    r.row<&R::memory_fit>(kMemoryFitNames, "Whether it fits, with what the allocator reserves.");
    r.row<&R::goodput>(kind::fraction(true));
    r.row<&R::effective_tokens_per_second>(quantiles_record, "Over the elapsed time.");
    r.row<&R::days>(quantiles_record);
    r.row<&R::done>(nullable(date_quantiles_record), "Null: no start is stated.");
    r.row<&R::gpu_hours>(quantiles_record);
    r.row<&R::cost>(nullable(capacity_cost_record), "Null: no price.");
    r.row<&R::energy_mwh>(nullable());
    r.all_required();
  });
}

const Record<planner::CheckpointPlan>& checkpoint_record() {
  return described([](Record<planner::CheckpointPlan>& r) {
    using R = planner::CheckpointPlan;
    r.row<&R::size>("bytes", "");
    r.row<&R::interval>("interval_s", "");
    r.row<&R::young_interval>("young_interval_s", "");
    r.row<&R::pause>("pause_s", "");
    r.row<&R::persist>("persist_s", "");
    r.row<&R::load>("load_s", "");
    r.named("CheckpointPlan").all_required();
  });
}

const Record<Interruptions>& interruptions_record() {
  return described([](Record<Interruptions>& r) {
    using R = Interruptions;
    r.row<&R::expected>(quantiles_record);
    r.row<&R::mean_time_between_h>();
    r.row<&R::spare_nodes>(IntRange{.low = 0});
    r.named("Interruptions").all_required();
  });
}

const Record<planner::TimeParts>& time_parts_record() {
  return described([](Record<planner::TimeParts>& r) {
    using R = planner::TimeParts;
    r.about(
        "productive_s and lost_s add up to elapsed_s. Names of Google's ml-goodput-measurement.");
    r.row<&R::elapsed>("elapsed_s", "");
    r.row<&R::productive>("productive_s", "");
    r.row<&R::lost>("lost_s", kind::amount_by_name<Seconds>(planner::kLostTimeNames));
    r.named("TimeParts").all_required();
  });
}

const Record<PhaseFacts>& capacity_phase_record() {
  return described([](Record<PhaseFacts>& r) {
    using R = PhaseFacts;
    r.rows<&R::tokens, &R::steps, &R::global_batch, &R::seq_length, &R::layout>();
    r.row<&R::step>("step_s", step_range_record);
    r.named("CapacityPhase").all_required();
  });
}

const Record<planner::GoodputCurve>& goodput_curve_record() {
  return described([](Record<planner::GoodputCurve>& r) {
    using R = planner::GoodputCurve;
    r.about("Goodput with one restart time.");
    r.row<&R::restart>("restart_s", "");
    r.row<&R::goodput>(kNotNegative, "One for each count of GPUs.");
    r.named("GoodputCurve").all_required();
  });
}

const Record<CapacityRow>& fitting_row_record() {
  return described([](Record<CapacityRow>& r) {
    using R = CapacityRow;
    r.derived<std::string>("layout_name", kind::text(), "",
                           [](const R& row) { return short_name(row.layout_record); });
    r.row<&R::layout_record>(layout_record);
    r.rows<&R::tokens_per_second, &R::memory_gib>();
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::terms>("terms_s", kind::numbers_by_name(kNotNegative));
    r.row<&R::cost_explanation>("The median cost as a product of its parts; empty: no price.");
    r.row<&R::energy_mwh_range>(nullable(quantiles_record));
    r.row<&R::power_mw>(nullable());
    r.row<&R::power_mw_high>(nullable());
    r.row<&R::power_mw_waiting>(nullable());
    r.row<&R::load>(kind::fraction(true), "Share of the steps in which devices compute.");
    r.row<&R::co2_t>(nullable(quantiles_record));
    r.row<&R::scaling_efficiency>();
    r.row<&R::goodput_meta>(nullable(kAnyNumber),
                            "Meta's closed form; null where failures come too often for it.");
    r.row<&R::checkpoint>(checkpoint_record);
    r.row<&R::interruptions>(interruptions_record);
    r.row<&R::added_share>(
        "Evaluation and waiting for the slowest node, as a share of the steps' time.");
    r.row<&R::price>("price_per_gpu_hour", nullable(ranged_facts_record));
    r.row<&R::kilowatts>("kilowatts_per_gpu", nullable(ranged_facts_record),
                         "While it computes, with its share of the node, without the PUE.");
    r.row<&R::time>(time_parts_record);
    r.row<&R::phases>(capacity_phase_record);
    r.all_required();
  });
}

}  // namespace

const Record<ElapsedPart>& elapsed_part_record() {
  return described([](Record<ElapsedPart>& r) {
    using R = ElapsedPart;
    r.about("A part of the elapsed time.");
    r.row<&R::name>("productive_steps, or a key of lost_s.");
    r.row<&R::days>(kAnyNumber, "Expected, at the predicted inputs.");
    r.row<&R::range>("range_days", quantiles_record,
                     "Over what the inputs may be; when failures come is not varied.");
    r.named("ElapsedPart").all_required();
  });
}

const Record<planner::GoodputCurves>& goodput_curves_record() {
  return described([](Record<planner::GoodputCurves>& r) {
    using R = planner::GoodputCurves;
    r.about(
        "Goodput of the row in front on other GPU counts and with other restart times; the "
        "productive GPU-time stays the row's.");
    r.row<&R::gpus>("Ascending.");
    r.row<&R::curves>(goodput_curve_record, "Shortest restart first.");
    r.named("GoodputCurves").all_required();
  });
}

const Record<planner::Ranged>& ranged_facts_record() {
  return described([](Record<planner::Ranged>& r) {
    using R = planner::Ranged;
    r.about("A number and its 90 % interval.");
    r.row<&R::value>(kAnyNumber);
    r.row<&R::low>(kAnyNumber);
    r.row<&R::high>(kAnyNumber);
    r.rows<&R::basis, &R::source>();
    r.named("RangedNumber").all_required();
  });
}

const Record<RunFacts>& run_facts_record() {
  return described([](Record<RunFacts>& r) {
    using R = RunFacts;
    r.rows<&R::gpus, &R::global_batch>();
    r.row<&R::schedule>("Whether the batch follows the question's schedule.");
    r.row<&R::fits>();
    r.row<&R::limits>("In words: limits that fail, or why no layout fits; empty: all are kept.");
    const auto fits = [](const R& run) { return run.fits; };
    r.rows_of(fitting_run_record(), fits);
    r.all_required();
  });
}

const Record<CapacityRow>& capacity_row_record() {
  return described([](Record<CapacityRow>& r) {
    using R = CapacityRow;
    r.row<&R::id>(kRowIdAbout);
    r.rows<&R::cluster, &R::cluster_name, &R::device, &R::seq_length, &R::recommended>();
    r.rows_of(run_facts_record());
    const auto fits = [](const R& row) { return row.fits; };
    r.rows_of(fitting_row_record(), fits);
    r.named("CapacityRow").all_required();
  });
}

}  // namespace meshwright::reports
