// SPDX-License-Identifier: Apache-2.0
#include "reports/records/backtest.h"

#include "planner/accuracy/measured_set_json.h"
#include "reports/records/parts.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::OomConfusion>& oom_confusion_record() {
  return described([](Record<planner::OomConfusion>& r) {
    using R = planner::OomConfusion;
    r.about("Runs by what happened and by what was predicted.");
    const auto row = [&r](int R::*member, std::string_view key) {
      r.row(member, key, kind::integer({.low = 0}), "");
    };
    row(&R::ok_fits, "ok_predicted_fit");
    row(&R::ok_oom, "ok_predicted_oom");
    row(&R::oom_fits, "oom_predicted_fit");
    row(&R::oom_oom, "oom_predicted_oom");
    row(&R::failed_fits, "failed_predicted_fit");
    row(&R::failed_oom, "failed_predicted_oom");
    r.named("OomConfusion").all_required();
  });
}

const Record<planner::GroupScore>& group_score_record() {
  return described([](Record<planner::GroupScore>& r) {
    r.about("The errors of a group of runs.");
    r.row<&planner::GroupScore::group>().required();
    r.rows_of(
        score_record(), [](auto& group) -> auto& { return group.score; });
    r.named("GroupScore");
  });
}

const Record<MeasuredFacts>& measured_facts_record() {
  return described([](Record<MeasuredFacts>& r) {
    using R = MeasuredFacts;
    r.about("What was measured.");
    r.row<&R::status>(planner::kRunStatusNames).required();
    r.rows<&R::step, &R::peak_memory>();
    r.named("MeasuredFacts");
  });
}

const Record<PredictedFacts>& predicted_facts_record() {
  return described([](Record<PredictedFacts>& r) {
    using R = PredictedFacts;
    r.about("What is predicted: times where the layout obeys the rules but that of memory.");
    r.row<&R::fits>().required();
    r.row<&R::violation>(rule_kind(), "The rule that is broken.");
    r.row<&R::step>();
    r.row<&R::step_low>("step_seconds_low", "");
    r.row<&R::step_high>("step_seconds_high", "");
    r.row<&R::interval_regime>(kIntervalRegimeNames);
    r.row<&R::peak_memory>();
    r.row<&R::peak_allocated>("Less the allocator's reserve.");
    r.row<&R::terms>("terms_seconds", kind::numbers_by_name()).omitted_at_default();
    r.named("PredictedFacts");
  });
}

const Record<BacktestRun>& backtest_run_record() {
  return described([](Record<BacktestRun>& r) {
    using R = BacktestRun;
    r.about("A run, measured and predicted.");
    r.rows<&R::id, &R::group>();
    r.row<&R::layout>(layout_record);
    r.row<&R::measured>(measured_facts_record);
    r.row<&R::predicted>(predicted_facts_record);
    r.row<&R::step_time_error_percent>(nullable(kAnyNumber), "Predicted / measured - 1.");
    r.row<&R::memory_error_percent>(nullable(kAnyNumber));
    r.named("BacktestRun").all_required();
  });
}

const Record<planner::Timed>& priced_layout_record() {
  return described([](Record<planner::Timed>& r) {
    using R = planner::Timed;
    r.about("A layout at our price.");
    r.derived<std::string>("short_name", kind::text(), "",
                           [](const R& priced) { return short_name(priced.layout); });
    r.row<&R::layout>(layout_record);
    r.rows<&R::step_time, &R::peak_memory>();
    r.named("PricedLayout").all_required();
  });
}

const Record<PickedRun>& picked_run_record() {
  return described([](Record<PickedRun>& r) {
    using R = PickedRun;
    r.about("A run beside what a search picks in its place.");
    r.rows<&R::id, &R::source>();
    r.row<&R::reported>(nullable());
    r.row<&R::theirs>(nullable(priced_layout_record), "Null: a rule but that of memory is broken.");
    r.row<&R::refused_by>(nullable(rule_kind()));
    r.row<&R::ours>(nullable(priced_layout_record), "Null: the search finds none.");
    r.row<&R::claim>(nullable(kAnyNumber), "Step of theirs over step of ours, less 1.");
    r.row<&R::tensor_ranks_leave_node>("Of ours.");
    r.row<&R::cause>("The switches that most of the claim comes from.");
    r.row<&R::term>("The term of the step that shrinks most.");
    r.named("PickedRun").all_required();
  });
}

std::optional<double> percent_of(const std::optional<double>& share) {
  return share ? std::optional(100.0 * *share) : std::nullopt;
}

PredictedFacts predicted_facts(const planner::PredictedRun& run) {
  PredictedFacts facts{.fits = !run.violation};
  if (run.violation) facts.violation = run.violation->rule;
  if (!run.estimate) return facts;
  const Estimate& estimate = *run.estimate;
  facts.step = estimate.step_time;
  facts.step_low = estimate.step_time_low;
  facts.step_high = estimate.step_time_high;
  facts.interval_regime = estimate.interval_regime;
  facts.peak_memory = estimate.peak_memory();
  facts.peak_allocated = estimate.peak_allocated();
  for (const Term& term : estimate.terms) {
    facts.terms.emplace_back(name_of(term.kind), term.cost.time.value());
  }
  return facts;
}

std::optional<planner::Timed> priced(const std::optional<Estimate>& e) {
  if (!e) return std::nullopt;
  return planner::Timed{e->layout, e->step_time, e->peak_memory()};
}

}  // namespace

const Record<planner::Score>& score_record() {
  return described([](Record<planner::Score>& r) {
    using R = planner::Score;
    r.about("Errors of a group of runs; null: the runs do not say.");
    r.row<&R::runs>(IntRange{.low = 0}, "With a measured time and a prediction.");
    r.row<&R::mean_ape_percent>("Of the absolute errors, as all that end in \"ape\".");
    r.rows<&R::median_ape_percent, &R::max_ape_percent>();
    r.row<&R::bias_percent>(kAnyNumber, "Mean error with its sign.");
    r.row<&R::kendall_tau>(nullable(kAnyNumber), "Mean over groups of two or more.");
    r.row<&R::top1_regret_percent_median>(
        nullable(kAnyNumber),
        "How much slower than the best run the one is that is predicted to be.");
    r.row<&R::top1_regret_percent_mean>(nullable(kAnyNumber));
    r.row<&R::top1_regret_percent_max>(nullable(kAnyNumber));
    r.row<&R::top3_regret_percent_mean>(nullable(kAnyNumber), "The best of the first three.");
    r.row<&R::memory_median_ape_percent>(nullable(kAnyNumber));
    r.row<&R::oom_accuracy_percent>(nullable(kAnyNumber));
    r.row<&R::oom_confusion>(oom_confusion_record);
    r.row<&R::interval_coverage_percent>(nullable(kAnyNumber));
    r.row<&R::interval_width_percent>(nullable(kAnyNumber), "Mean of (high - low) / predicted.");
    r.row<&R::interval_regime>(nullable(kIntervalRegimeNames),
                               "Of several the one that is known least.");
    r.named("Score").all_required();
  });
}

const Record<BacktestFile>& backtest_file_record() {
  return described([](Record<BacktestFile>& r) {
    using R = BacktestFile;
    r.about("What meshwright backtest writes: predictions against measured runs.");
    r.file_of({std::string(kBacktestSchema)}, true);
    r.row<&R::name>("Of the set.");
    r.row<&R::source>();
    r.row<&R::assumed>("What the set does not state.");
    r.row<&R::overall>(score_record);
    r.row<&R::groups>(group_score_record, "In order of first appearance.");
    r.row<&R::runs>(backtest_run_record);
    r.row<&R::left_out>(planner::unread_run_record, "Runs of the set that could not be read.");
    r.written_if([](const R& file) { return !file.left_out.empty(); });
    r.all_required();
  });
}

const Record<PicksFile>& picks_file_record() {
  return described([](Record<PicksFile>& r) {
    r.about("What meshwright backtest --picks writes.");
    r.file_of({std::string(kPicksSchema)}, true);
    r.row<&PicksFile::set>("Name of the set.");
    r.row<&PicksFile::runs>(picked_run_record);
    r.row<&PicksFile::left_out>(planner::unread_run_record,
                                "Runs of the set that could not be read.");
    r.written_if([](const PicksFile& file) { return !file.left_out.empty(); });
    r.all_required();
  });
}

BacktestFile backtest_file_of(const planner::MeasuredSet& set, const planner::Backtest& backtest) {
  BacktestFile file{.name = set.name,
                    .source = set.source,
                    .assumed = set.assumed,
                    .overall = backtest.overall,
                    .groups = backtest.groups,
                    .left_out = set.unread};
  for (const planner::PredictedRun& predicted : backtest.runs) {
    const planner::MeasuredRun& run = set.runs[predicted.run];
    file.runs.push_back({.id = run.id,
                         .group = run.group,
                         .layout = run.layout,
                         .measured = {run.status, run.step_time, run.peak_memory},
                         .predicted = predicted_facts(predicted),
                         .step_time_error_percent = percent_of(predicted.step_time_error),
                         .memory_error_percent = percent_of(predicted.memory_error)});
  }
  return file;
}

PicksFile picks_file_of(const planner::MeasuredSet& set, const std::vector<planner::Pick>& picks) {
  PicksFile file{.set = set.name, .left_out = set.unread};
  for (const planner::Pick& pick : picks) {
    const planner::MeasuredRun& run = set.runs[pick.run];
    PickedRun picked{.id = run.id,
                     .source = run.source,
                     .reported = run.step_time,
                     .theirs = priced(pick.theirs),
                     .ours = priced(pick.ours),
                     .tensor_ranks_leave_node = pick.leaves_domain,
                     .cause = pick.cause,
                     .term = pick.term};
    if (pick.refused) picked.refused_by = pick.refused->rule;
    if (pick.theirs && pick.ours) picked.claim = pick.claim;
    file.runs.push_back(std::move(picked));
  }
  return file;
}

}  // namespace meshwright::reports
