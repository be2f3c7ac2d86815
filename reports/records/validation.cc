// SPDX-License-Identifier: Apache-2.0
#include "reports/records/validation.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using planner::LayoutComparison;

const Record<planner::AtHostSpeed>& at_host_speed_record() {
  return described([](Record<planner::AtHostSpeed>& r) {
    using R = planner::AtHostSpeed;
    r.about("Predicted for the host as fast as it was during the run.");
    r.row<&R::error>(kAnyNumber);
    r.row<&R::inside_interval>();
    r.named("AtHostSpeed").all_required();
  });
}

const Record<planner::TermComparison>& term_comparison_record() {
  return described([](Record<planner::TermComparison>& r) {
    using R = planner::TermComparison;
    r.about("A part of the step's time.");
    r.row<&R::kind>("name", kTermNames);
    r.rows<&R::predicted, &R::measured>();
    r.named("TermComparison").all_required();
  });
}

const Record<planner::TransferComparison>& transfer_comparison_record() {
  return described([](Record<planner::TransferComparison>& r) {
    using R = planner::TransferComparison;
    r.about("All calls of a transfer in a step, as rank 0 made and timed them.");
    Record<Transfer> counted("");
    counted.row<&Transfer::name>(lasting_text());
    counted.row<&Transfer::phase>(kPhaseNames);
    counted.row<&Transfer::times_per_step>("Calls.");
    counted.row<&Transfer::payload>("Of one call.");
    r.rows_of(
        counted, [](auto& compared) -> auto& { return compared.counted; });
    r.row<&R::predicted>();
    r.row<&R::measured>("0: not timed.");
    r.row<&R::as_predicted>("The same calls with the same bytes.");
    r.named("TransferComparison").all_required();
  });
}

const Record<LayoutComparison>& report_layout_comparison_record() {
  static const Record<LayoutComparison> record = [] {
    using R = LayoutComparison;
    const auto predicted = [](Seconds Estimate::*member) {
      return [member](auto& run) -> auto& { return run.predicted.*member; };
    };
    const auto time = kind::base_amount<Seconds>();
    Record<R> r("A layout that was run. Errors are predicted / measured - 1.");
    r.derived<Layout>("layout", kind::object(layout_record), "The plan's.",
                      [](const R& run) { return run.observation.layout; });
    r.derived<std::string>("name", kind::text(), "The plan's layout in a line.",
                           [](const R& run) { return short_name(run.observation.layout); });
    r.derived<std::string>("run_name", kind::text(), "What was run of it.",
                           [](const R& run) { return short_name(run.observation.run_layout); });
    r.row_at(predicted(&Estimate::step_time), "predicted_seconds");
    r.row_at(predicted(&Estimate::step_time_low), "predicted_low_seconds");
    r.row_at(predicted(&Estimate::step_time_high), "predicted_high_seconds");
    r.derived<Seconds>("measured_seconds", time, "Median over steps.",
                       [](const R& run) { return run.observation.step_time; });
    r.row<&R::error>(kAnyNumber);
    r.row<&R::inside_interval>();
    r.row<&R::at_host_speed>(nullable(at_host_speed_record),
                             "Null: the run does not say how fast the host was.");
    r.row<&R::memory_error>(kAnyNumber, "Of the peak memory.");
    r.row<&R::terms>(term_comparison_record);
    r.row<&R::transfers>(transfer_comparison_record);
    r.row<&R::same_bytes>("What was sent is what was predicted.");
    r.row<&R::observation>(observation_record);
    return r.named("LayoutComparison").all_required();
  }();
  return record;
}

const Record<LayoutComparison>& layout_comparison_record() {
  return described([](Record<LayoutComparison>& r) {
    r.about("A layout that was run. Errors are predicted / measured - 1.");
    r.rows_of(report_layout_comparison_record());
    r.derived<Estimate>("predicted", kind::object(estimate_record), "Of what was run.",
                        [](const LayoutComparison& run) { return run.predicted; });
    r.named("LayoutComparison").all_required();
  });
}

Record<planner::Validation> make_validation_record(RecordOf<LayoutComparison> layout) {
  using R = planner::Validation;
  Record<R> r("Each layout that was run, predicted and measured. Errors are shares.");
  r.rows<&R::median_absolute_error, &R::worst_absolute_error>();
  r.row<&R::kendall_tau>(NumberRange{.low = -1.0, .high = 1.0},
                         "Rank agreement of three or more layouts; else 0.");
  r.row<&R::regret>(
      kAnyNumber, "The layout predicted fastest, measured, over the one measured fastest, less 1.");
  r.row<&R::median_absolute_memory_error>();
  r.row<&R::interval_coverage>(kind::fraction(true),
                               "Share of layouts measured inside their interval.");
  r.row<&R::median_absolute_error_at_host_speed>(nullable(),
                                                 "Null: no run says how fast the host was.");
  r.row<&R::worst_absolute_error_at_host_speed>(nullable()).absent_in_older_files();
  r.row<&R::interval_coverage_at_host_speed>(nullable(kind::fraction(true)));
  r.row<&R::regret_at_host_speed>(
       nullable(kAnyNumber),
       "Regret with each time divided by its host's slowdown. Null: a run did not measure it.")
      .absent_in_older_files();
  r.row<&R::skipped>("Observations that failed, and why.");
  r.row<&R::layouts>(layout);
  return r.named("Validation").all_required();
}

}  // namespace

const Record<planner::Validation>& validation_record() {
  static const Record<planner::Validation> record =
      make_validation_record(layout_comparison_record);
  return record;
}

const Record<planner::Validation>& report_validation_record() {
  static const Record<planner::Validation> record =
      make_validation_record(report_layout_comparison_record);
  return record;
}

const Record<ValidationFile>& validation_file_record() {
  return described([](Record<ValidationFile>& r) {
    using R = ValidationFile;
    r.about("What meshwright validate --out writes: each layout predicted and measured.");
    r.file_of({std::string(kValidationSchema)}, true);
    add_origin(r);
    r.rows_of(
        validation_record(), [](auto& file) -> auto& { return file.validation; });
    r.row<&R::caution>("The trials are of another plan, and were compared because of --force.");
    r.omitted_at_default();
  });
}

}  // namespace meshwright::reports
