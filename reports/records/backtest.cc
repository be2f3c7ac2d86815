// SPDX-License-Identifier: Apache-2.0
#include "reports/records/backtest.h"

#include "planner/accuracy/measured_set_json.h"
#include "reports/records/parts.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::OomConfusion>& oom_confusion_record() {
  static const Record<planner::OomConfusion> record = [] {
    using R = planner::OomConfusion;
    Record<R> r("Runs by what happened and by what was predicted.");
    const auto row = [&r](int R::*member, std::string_view key) {
      r.row(member, key, kind::integer({.low = 0}), "");
    };
    row(&R::ok_fits, "ok_predicted_fit");
    row(&R::ok_oom, "ok_predicted_oom");
    row(&R::oom_fits, "oom_predicted_fit");
    row(&R::oom_oom, "oom_predicted_oom");
    row(&R::failed_fits, "failed_predicted_fit");
    row(&R::failed_oom, "failed_predicted_oom");
    return r.named("OomConfusion").all_required();
  }();
  return record;
}

const Record<planner::GroupScore>& group_score_record() {
  static const Record<planner::GroupScore> record = [] {
    Record<planner::GroupScore> r("The errors of a group of runs.");
    r.row(&planner::GroupScore::group, "group", kind::text(), "").required();
    r.rows_of(
        score_record(), [](auto& group) -> auto& { return group.score; });
    return r.named("GroupScore");
  }();
  return record;
}

const Record<MeasuredFacts>& measured_facts_record() {
  static const Record<MeasuredFacts> record = [] {
    using R = MeasuredFacts;
    Record<R> r("What was measured.");
    r.row(&R::status, "status", kind::choice(planner::kRunStatusNames), "").required();
    r.row(&R::step, "step_seconds", kind::optional(kind::base_amount<Seconds>()), "");
    r.row(&R::peak_memory, "peak_memory_bytes", kind::optional(kind::base_amount<Bytes>()), "");
    return r.named("MeasuredFacts");
  }();
  return record;
}

const Record<PredictedFacts>& predicted_facts_record() {
  static const Record<PredictedFacts> record = [] {
    using R = PredictedFacts;
    const auto time = kind::optional(kind::base_amount<Seconds>());
    const auto memory = kind::optional(kind::base_amount<Bytes>());
    Record<R> r("What is predicted: times where the layout obeys the rules but that of memory.");
    r.row(&R::fits, "fits", kind::flag(), "").required();
    r.row(&R::violation, "violation", kind::optional(rule_kind()), "The rule that is broken.");
    r.row(&R::step, "step_seconds", time, "");
    r.row(&R::step_low, "step_seconds_low", time, "");
    r.row(&R::step_high, "step_seconds_high", time, "");
    r.row(&R::interval_regime, "interval_regime",
          kind::optional(kind::choice(kIntervalRegimeNames)), "");
    r.row(&R::peak_memory, "peak_memory_bytes", memory, "");
    r.row(&R::peak_allocated, "peak_allocated_bytes", memory, "Less the allocator's reserve.");
    r.row(&R::terms, "terms_seconds", kind::numbers_by_name(), "").omitted_at_default();
    return r.named("PredictedFacts");
  }();
  return record;
}

const Record<BacktestRun>& backtest_run_record() {
  static const Record<BacktestRun> record = [] {
    using R = BacktestRun;
    Record<R> r("A run, measured and predicted.");
    r.row(&R::id, "id", kind::text(), "");
    r.row(&R::group, "group", kind::text(), "");
    r.row(&R::layout, "layout", kind::object(layout_record), "");
    r.row(&R::measured, "measured", kind::object(measured_facts_record), "");
    r.row(&R::predicted, "predicted", kind::object(predicted_facts_record), "");
    r.row(&R::step_time_error_percent, "step_time_error_percent",
          kind::nullable(kind::number(kAnyNumber)), "Predicted / measured - 1.");
    r.row(&R::memory_error_percent, "memory_error_percent",
          kind::nullable(kind::number(kAnyNumber)), "");
    return r.named("BacktestRun").all_required();
  }();
  return record;
}

const Record<planner::Timed>& priced_layout_record() {
  static const Record<planner::Timed> record = [] {
    using R = planner::Timed;
    Record<R> r("A layout at our price.");
    r.derived<std::string>("short_name", kind::text(), "",
                           [](const R& priced) { return short_name(priced.layout); });
    r.row(&R::layout, "layout", kind::object(layout_record), "");
    r.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "");
    r.row(&R::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(), "");
    return r.named("PricedLayout").all_required();
  }();
  return record;
}

const Record<PickedRun>& picked_run_record() {
  static const Record<PickedRun> record = [] {
    using R = PickedRun;
    const auto priced = kind::nullable(kind::object(priced_layout_record));
    Record<R> r("A run beside what a search picks in its place.");
    r.row(&R::id, "id", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    r.row(&R::reported, "reported_seconds", kind::nullable(kind::base_amount<Seconds>()), "");
    r.row(&R::theirs, "theirs", priced, "Null: a rule but that of memory is broken.");
    r.row(&R::refused_by, "refused_by", kind::nullable(rule_kind()), "");
    r.row(&R::ours, "ours", priced, "Null: the search finds none.");
    r.row(&R::claim, "claim", kind::nullable(kind::number(kAnyNumber)),
          "Step of theirs over step of ours, less 1.");
    r.row(&R::tensor_ranks_leave_node, "tensor_ranks_leave_node", kind::flag(), "Of ours.");
    r.row(&R::cause, "cause", kind::text(), "The switches that most of the claim comes from.");
    r.row(&R::term, "term", kind::text(), "The term of the step that shrinks most.");
    return r.named("PickedRun").all_required();
  }();
  return record;
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
  static const Record<planner::Score> record = [] {
    using R = planner::Score;
    const auto number = kind::nullable(kind::number(kAnyNumber));
    Record<R> r("Errors of a group of runs; null: the runs do not say.");
    r.row(&R::runs, "runs", kind::integer({.low = 0}), "With a measured time and a prediction.");
    r.row(&R::mean_ape_percent, "mean_ape_percent", kind::number(),
          "Of the absolute errors, as all that end in \"ape\".");
    r.row(&R::median_ape_percent, "median_ape_percent", kind::number(), "");
    r.row(&R::max_ape_percent, "max_ape_percent", kind::number(), "");
    r.row(&R::bias_percent, "bias_percent", kind::number(kAnyNumber), "Mean error with its sign.");
    r.row(&R::kendall_tau, "kendall_tau", number, "Mean over groups of two or more.");
    r.row(&R::top1_regret_percent_median, "top1_regret_percent_median", number,
          "How much slower than the best run the one is that is predicted to be.");
    r.row(&R::top1_regret_percent_mean, "top1_regret_percent_mean", number, "");
    r.row(&R::top1_regret_percent_max, "top1_regret_percent_max", number, "");
    r.row(&R::top3_regret_percent_mean, "top3_regret_percent_mean", number,
          "The best of the first three.");
    r.row(&R::memory_median_ape_percent, "memory_median_ape_percent", number, "");
    r.row(&R::oom_accuracy_percent, "oom_accuracy_percent", number, "");
    r.row(&R::oom_confusion, "oom_confusion", kind::object(oom_confusion_record), "");
    r.row(&R::interval_coverage_percent, "interval_coverage_percent", number, "");
    r.row(&R::interval_width_percent, "interval_width_percent", number,
          "Mean of (high - low) / predicted.");
    r.row(&R::interval_regime, "interval_regime",
          kind::nullable(kind::choice(kIntervalRegimeNames)),
          "Of several the one that is known least.");
    return r.named("Score").all_required();
  }();
  return record;
}

const Record<BacktestFile>& backtest_file_record() {
  static const Record<BacktestFile> record = [] {
    using R = BacktestFile;
    Record<R> r("What meshwright backtest writes: predictions against measured runs.");
    r.file_of({std::string(kBacktestSchema)}, true);
    r.row(&R::name, "name", kind::text(), "Of the set.");
    r.row(&R::source, "source", kind::text(), "");
    r.row(&R::assumed, "assumed", kind::text(), "What the set does not state.");
    r.row(&R::overall, "overall", kind::object(score_record), "");
    r.row(&R::groups, "groups", kind::list(group_score_record), "In order of first appearance.");
    r.row(&R::runs, "runs", kind::list(backtest_run_record), "");
    r.row(&R::left_out, "left_out", kind::list(planner::unread_run_record),
          "Runs of the set that could not be read.");
    r.written_if([](const R& file) { return !file.left_out.empty(); });
    return r.all_required();
  }();
  return record;
}

const Record<PicksFile>& picks_file_record() {
  static const Record<PicksFile> record = [] {
    Record<PicksFile> r("What meshwright backtest --picks writes.");
    r.file_of({std::string(kPicksSchema)}, true);
    r.row(&PicksFile::set, "set", kind::text(), "Name of the set.");
    r.row(&PicksFile::runs, "runs", kind::list(picked_run_record), "");
    r.row(&PicksFile::left_out, "left_out", kind::list(planner::unread_run_record),
          "Runs of the set that could not be read.");
    r.written_if([](const PicksFile& file) { return !file.left_out.empty(); });
    return r.all_required();
  }();
  return record;
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
