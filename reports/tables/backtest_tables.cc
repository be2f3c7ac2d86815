// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/backtest_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using planner::Backtest;
using planner::MeasuredRun;
using planner::MeasuredSet;
using planner::PredictedRun;
using planner::Score;

constexpr std::size_t kWorstRuns = 10;

std::vector<Cell> score_row(const std::string& name, const Score& score) {
  if (score.runs == 0) {
    return {name,
            0.0,
            {},
            {},
            {},
            {},
            {},
            {},
            {},
            optional_cell(score.memory_median_ape_percent),
            optional_cell(score.oom_accuracy_percent),
            {},
            {},
            {}};
  }
  return {name,
          static_cast<double>(score.runs),
          score.mean_ape_percent,
          score.median_ape_percent,
          score.max_ape_percent,
          score.bias_percent,
          optional_cell(score.kendall_tau),
          optional_cell(score.top1_regret_percent_mean),
          optional_cell(score.top3_regret_percent_mean),
          optional_cell(score.memory_median_ape_percent),
          optional_cell(score.oom_accuracy_percent),
          optional_cell(score.interval_coverage_percent),
          optional_cell(score.interval_width_percent),
          std::string(name_of(*score.interval_regime))};
}

// The three largest terms, "forward_compute 41 %, ...".
std::string largest_terms(const Estimate& estimate) {
  std::vector<Term> terms(estimate.terms.begin(), estimate.terms.end());
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.cost.time > b.cost.time; });
  std::string text;
  for (std::size_t i = 0; i < 3 && terms[i].cost.time > seconds(0); ++i) {
    const double share = 100.0 * (terms[i].cost.time / estimate.step_time);
    append_to_list(text, ", ", fmt::format("{} {} %", name_of(terms[i].kind), std::lround(share)));
  }
  return text;
}

}  // namespace

Table scores_table(const Backtest& backtest) {
  Table table;
  table.title = "Predicted against measured (error = predicted / measured - 1)";
  table.columns = {{"group", "group", "", 4},
                   {"runs", "runs", "", 5},
                   {"mean_ape_percent", "mean error", "%", 3},
                   {"median_ape_percent", "median", "%", 3},
                   {"max_ape_percent", "worst", "%", 3},
                   {"bias_percent", "bias", "%", 3},
                   {"kendall_tau", "tau", "", 3},
                   {"top1_regret_percent_mean", "top-1 regret", "%", 3},
                   {"top3_regret_percent_mean", "top-3 regret", "%", 3},
                   {"memory_median_ape_percent", "memory error", "%", 3},
                   {"oom_accuracy_percent", "fit predicted correctly", "%", 4},
                   {"interval_coverage_percent", "inside 90 % interval", "%", 3},
                   {"interval_width_percent", "interval width", "%", 3},
                   {"interval_regime", "calibration level", "", 4}};
  for (const planner::GroupScore& group : backtest.groups) {
    table.rows.push_back(score_row(group.group, group.score));
  }
  if (backtest.groups.size() != 1) table.rows.push_back(score_row("all", backtest.overall));
  return table;
}

Table unread_runs_table(const MeasuredSet& set) {
  Table table{
      "Skipped runs",
      {{"file", "file", ""}, {"place", "place", ""}, {"id", "run", ""}, {"reason", "reason", ""}},
      {}};
  for (const planner::UnreadRun& run : set.unread) {
    table.rows.push_back({run.file, run.place, run.id, run.reason});
  }
  return table;
}

Table worst_runs_table(const MeasuredSet& set, const Backtest& backtest) {
  std::vector<const PredictedRun*> runs;
  for (const PredictedRun& run : backtest.runs) {
    if (run.step_time_error) runs.push_back(&run);
  }
  std::stable_sort(runs.begin(), runs.end(), [](const PredictedRun* a, const PredictedRun* b) {
    return std::abs(*a->step_time_error) > std::abs(*b->step_time_error);
  });
  runs.resize(std::min(runs.size(), kWorstRuns));
  Table table;
  table.title = "Largest errors (positive: predicted too slow)";
  table.columns = {{"id", "run", "", 4},
                   {"group", "group", "", 4},
                   {"layout", "layout", "", 4},
                   {"measured_seconds", "measured", "s", 4},
                   {"predicted_seconds", "predicted", "s", 4},
                   {"error_percent", "error", "%", 3},
                   {"largest_terms", "largest predicted terms", "", 4}};
  for (const PredictedRun* run : runs) {
    const MeasuredRun& measured = set.runs[run->run];
    table.rows.push_back({measured.id, measured.group, short_name(measured.layout),
                          measured.step_time->value(), run->estimate->step_time.value(),
                          100.0 * *run->step_time_error, largest_terms(*run->estimate)});
  }
  return table;
}

}  // namespace meshwright::reports
