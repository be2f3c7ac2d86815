// SPDX-License-Identifier: Apache-2.0
#include "reports/records/capacity.h"

#include <algorithm>

#include "sim/json/input_records.h"

namespace meshwright::reports {
namespace {

constexpr std::string_view kOptionsAbout = "Behind the command: makes this entry's numbers again.";

const Record<LeverEnd>& lever_end_record() {
  return described([](Record<LeverEnd>& r) {
    using R = LeverEnd;
    r.row<&R::value>(kAnyNumber);
    r.row<&R::options>(kOptionsAbout);
    r.rows_of(run_facts_record());
    r.named("LeverEnd").all_required();
  });
}

const Record<Lever>& lever_record() {
  return described([](Record<Lever>& r) {
    using R = Lever;
    r.about(
        "A choice is halved and doubled, anything else turned by one standard deviation of its "
        "own.");
    r.rows<&R::name, &R::label, &R::unit, &R::choice, &R::basis, &R::relative_spread>();
    r.row<&R::value>(kAnyNumber);
    r.row<&R::swing_days>();
    r.row<&R::swing_cost>("0: no price.");
    r.row<&R::low>(nullable(lever_end_record));
    r.row<&R::high>(nullable(lever_end_record));
    r.named("Lever").all_required();
  });
}

const Record<WhatIfAxes>& what_if_axes_record() {
  return described([](Record<WhatIfAxes>& r) {
    using R = WhatIfAxes;
    r.rows<&R::batch_factor, &R::gpus, &R::network_factor>();
    r.row<&R::failure_rate>("Per 1,000 node-days.");
    r.named("WhatIfAxes").all_required();
  });
}

const Record<WhatIfCell>& what_if_cell_record() {
  return described([](Record<WhatIfCell>& r) {
    using R = WhatIfCell;
    r.rows_of(run_facts_record());
    r.row<&R::options>(kOptionsAbout);
    r.named("WhatIfCell").all_required();
  });
}

const Record<WhatIfGrid>& what_if_grid_record() {
  return described([](Record<WhatIfGrid>& r) {
    using R = WhatIfGrid;
    r.row<&R::axes>(what_if_axes_record);
    r.derived<std::vector<std::string>>(
        "order", kind::texts(), "Axes, outermost first: cells are in this order.", [](const R&) {
          return std::vector<std::string>{"batch_factor", "gpus", "network_factor", "failure_rate"};
        });
    r.row<&R::cells>(what_if_cell_record);
    r.named("WhatIfGrid").all_required();
  });
}

const Record<ScalingStep>& scaling_step_record() {
  return described([](Record<ScalingStep>& r) {
    using R = ScalingStep;
    r.rows<&R::from_gpus, &R::to_gpus>();
    r.row<&R::gain>(kAnyNumber);
    r.row<&R::term>();
    r.row<&R::share_of_growth>(kAnyNumber);
    r.named("ScalingStep").all_required();
  });
}

const Record<ScalingSeries>& scaling_series_record() {
  return described([](Record<ScalingSeries>& r) {
    using R = ScalingSeries;
    r.rows<&R::cluster, &R::global_batch, &R::schedule>();
    r.row<&R::steps>(scaling_step_record);
    r.row<&R::bends_at_gpus>(nullable());
    r.row<&R::sentence>("Empty: it does not bend.");
    r.named("ScalingSeries").all_required();
  });
}

const Record<planner::ReferencePart>& reference_part_record() {
  return described([](Record<planner::ReferencePart>& r) {
    using R = planner::ReferencePart;
    r.row<&R::name>();
    r.row<&R::gpu_hours>(kAnyNumber);
    r.row<&R::sentence>();
    r.named("ReferencePart").all_required();
  });
}

const Record<ReferenceFacts>& reference_record() {
  return described([](Record<ReferenceFacts>& r) {
    using R = ReferenceFacts;
    r.about(
        "A row beside a run that somebody made. gpu_hours and the parts add up to "
        "stated_gpu_hours.");
    r.rows<&R::name, &R::source>();
    r.row<&R::row>(kRowIdAbout);
    r.rows<&R::gpus, &R::stated_gpu_hours>();
    r.row<&R::stated_step>("stated_step_s", nullable());
    r.row<&R::stated_mfu>(nullable());
    r.row<&R::stated_goodput>(nullable());
    r.row<&R::stated_mean_time_between_h>(nullable());
    r.row<&R::gpu_hours>();
    r.row<&R::schedule_gpu_hours>(
        nullable(kAnyNumber),
        "What the schedule takes more than the last phase's batch for all tokens; null: it is "
        "one of the parts.");
    r.row<&R::parts>(reference_part_record);
    r.named("ReferenceRun").all_required();
  });
}

}  // namespace

const Record<LimitFacts>& capacity_limits_record() {
  return described([](Record<LimitFacts>& r) {
    using R = LimitFacts;
    r.row<&R::deadline_days>(nullable());
    r.row<&R::deadline>(nullable());
    r.row<&R::budget>(nullable());
    r.row<&R::max_megawatts>(nullable());
    r.row<&R::max_gpus>(nullable());
    r.named("CapacityLimits").all_required();
  });
}

const Record<PriceFacts>& capacity_prices_record() {
  return described([](Record<PriceFacts>& r) {
    using R = PriceFacts;
    r.rows<&R::name, &R::date, &R::currency>();
    r.row<&R::example>("An example and no offer.");
    r.row<&R::source>();
    r.named("PriceList").all_required();
  });
}

namespace {

const Record<planner::Assumption>& assumption_record() {
  return described([](Record<planner::Assumption>& r) {
    using R = planner::Assumption;
    r.rows<&R::name, &R::label, &R::unit>();
    r.row<&R::in_interval>("Whether its range is part of days and cost.");
    r.rows_of(
        ranged_facts_record(), [](auto& assumption) -> auto& { return assumption.amount; });
    r.named("CapacityAssumption").all_required();
  });
}

const Record<FrontierFacts>& frontier_record() {
  return described([](Record<FrontierFacts>& r) {
    using R = FrontierFacts;
    r.about("A row among the others, in median days and cost.");
    r.row<&R::row>(kRowIdAbout);
    r.row<&R::days>();
    r.row<&R::cost>("GPU-hours where not every row has a price.");
    r.row<&R::dominated_by>(
        nullable(),
        "A row that is as fast and as cheap, and better in one; null: on the frontier.");
    r.row<&R::reason>("Why it is dominated, where that is known.");
    r.row<&R::slower>(nullable(), "The next slower row of the frontier.");
    r.row<&R::cost_per_day_saved>(
        nullable(kAnyNumber), "Additional cost over days saved, both relative to the slower row.");
    r.named("FrontierPoint").all_required();
  });
}

const Record<planner::Risk>& risk_record() {
  return described([](Record<planner::Risk>& r) {
    using R = planner::Risk;
    r.about("What can make the row late or dear; days and cost relative to its medians.");
    r.rows<&R::name, &R::what, &R::how_likely>();
    r.row<&R::days>(nullable(kAnyNumber), "Null: not modelled.");
    r.row<&R::cost>(nullable(kAnyNumber), "Null: not modelled, or no price.");
    r.row<&R::settled_by>();
    r.named("Risk").all_required();
  });
}

const Record<CalendarDay>& calendar_record() {
  return described([](Record<CalendarDay>& r) {
    using R = CalendarDay;
    r.about("A day of the run.");
    r.rows<&R::name, &R::label>();
    r.row<&R::day>(kAnyNumber, "Days from the start.");
    r.row<&R::date>(nullable(), "Null: no start is stated.");
    r.named("CalendarDay").all_required();
  });
}

const Record<RunInputFacts>& run_inputs_record() {
  return described([](Record<RunInputFacts>& r) {
    using R = RunInputFacts;
    r.about(
        "Inputs of the closed forms that all rows share. With a row's phases, checkpoint, price "
        "and "
        "power they give its days, cost and energy again.");
    r.row<&R::failure_rate>(ranged_facts_record, "Per 1,000 node-days.");
    r.row<&R::detection>("detection_s", ranged_facts_record);
    r.row<&R::restart>("restart_s", ranged_facts_record);
    r.row<&R::pause>("pause_s", ranged_facts_record, "Of an asynchronous save.");
    r.row<&R::storage>("storage_gb_per_s_per_node", ranged_facts_record);
    r.row<&R::pue>(ranged_facts_record);
    r.row<&R::asynchronous>();
    r.row<&R::persist>("persist_s", nullable(), "Null: from bytes and storage.");
    r.row<&R::load>("load_s", nullable(), "Null: from bytes and storage.");
    r.row<&R::interval>("interval_s", nullable(), "Null: the best one.");
    r.row<&R::replicas>();
    r.row<&R::catch_up>("catch_up_s", "");
    r.rows<&R::repair_days, &R::spares_target>();
    r.row<&R::spare_nodes>(nullable(IntRange{.low = 0}), "Null: as many as the target needs.");
    r.row<&R::waiting_over_busy>("Power while waiting over power while computing.");
    r.row<&R::step_factor>("Expected step over predicted step; steps of the rows contain it.");
    r.row<&R::day_worth>(nullable(), "Of a day that the run ends earlier.");
    r.row<&R::lead_time_days>(nullable(), "From the order to the start.");
    r.named("RunInputs").all_required();
  });
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
  return described([](Record<Capacity>& r) {
    using R = Capacity;
    r.about(
        "Rows of clusters, GPU counts and batches with days, cost and energy, the row to take, and "
        "what moves it. p10, p50, p90: quantiles. Each name ends in its unit.");
    r.row<&R::train_tokens>();
    r.row<&R::tokens_stated>(
        "False: nobody stated a training length, and train_tokens is a round number.");
    r.row<&R::device_kind>(kDeviceKindNames, "cpu: all clusters' devices are cores.");
    r.row<&R::start>(nullable());
    r.row<&R::command>();
    r.row<&R::headline>("The decision in one line.");
    r.row<&R::why_not_fewer>("Empty: there is no smaller option.");
    r.row<&R::why_not_more>("Empty: there is no larger option.");
    r.row<&R::weakest_point>("The input that was not measured and changes the end most.");
    r.row<&R::tags>("What the numbers are not.");
    r.row<&R::tried>(
        "Counts around a limit, and batches that follow their counts; empty: as the question "
        "names them.");
    r.row<&R::grid_options>("Behind the command: makes all rows again.");
    r.row<&R::verdict>();
    r.row<&R::planned>(nullable(), kRowIdAbout);
    r.row<&R::recommended>(nullable(), kRowIdAbout);
    r.row<&R::closest>(nullable(), kRowIdAbout);
    r.row<&R::reason>();
    r.row<&R::smallest>(nullable(), kRowIdAbout);
    r.row<&R::cheapest>(nullable(), kRowIdAbout);
    r.row<&R::fastest>(nullable(), kRowIdAbout);
    r.row<&R::limits>(capacity_limits_record);
    r.row<&R::prices>(nullable(capacity_prices_record));
    r.row<&R::rows>(capacity_row_record);
    r.row<&R::scaling>(scaling_series_record);
    r.row<&R::reference>(nullable(reference_record));
    r.row<&R::levers>(lever_record, "Largest swing of days first.");
    r.row<&R::what_if>(nullable(what_if_grid_record));
    r.row<&R::frontier>(frontier_record, "Slowest first.");
    r.row<&R::risks>(risk_record);
    r.row<&R::calendar>(calendar_record);
    r.row<&R::elapsed>(
        elapsed_part_record,
        "Parts of the elapsed time of the row in front; the expected days add up to its "
        "time.elapsed_s.");
    r.row<&R::goodput_curves>(nullable(goodput_curves_record), "Null: no layout fits.");
    r.row<&R::run_inputs>(run_inputs_record);
    r.row<&R::assumptions>(assumption_record);
    r.row<&R::included>("What the ranges include.");
    r.row<&R::not_included>();
    r.named("Capacity").all_required();
  });
}

const Record<CapacityFile>& capacity_file_record() {
  return described([](Record<CapacityFile>& r) {
    using R = CapacityFile;
    r.about("What meshwright capacity --out writes.");
    r.file_of({std::string(kCapacitySchema)}, true);
    add_origin(r);
    r.row<&R::model>(model_record);
    r.row<&R::job>(job_record);
    r.row<&R::what_ifs>("As typed, of every row.");
    r.row<&R::notes>("What was not measured, or is used in part.");
    r.written_if([](const R& file) { return !file.notes.empty(); });
    r.row<&R::capacity>(capacity_record);
    r.all_required();
  });
}

}  // namespace meshwright::reports
