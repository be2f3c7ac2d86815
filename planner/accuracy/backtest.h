// SPDX-License-Identifier: Apache-2.0
// Predicted against runs that somebody measured: error, ranking, memory and out-of-memory calls.
//
// Absolute percentage error: |predicted / measured - 1|. Ranking is judged inside a group of runs
// of one model on one cluster: Kendall's tau-b, and regret: how much slower than the best measured
// run the layout is that the prediction puts first (or the best of its first three).
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "planner/accuracy/measured_set.h"
#include "sim/step/estimate.h"

namespace meshwright::planner {

struct PredictedRun {
  std::size_t run = 0;                    // index into MeasuredSet::runs
  std::optional<Violation> violation;     // predicted not to fit or not legal
  std::optional<Estimate> estimate;       // also for a run that is predicted not to fit in memory
  std::optional<double> step_time_error;  // predicted / measured - 1
  std::optional<double> memory_error;     // predicted / measured - 1
  bool inside_interval = false;
};

// Counts of out-of-memory predictions. Rows: measured; columns: predicted to fit or not.
struct OomConfusion {
  int ok_fits = 0, ok_oom = 0;
  int oom_fits = 0, oom_oom = 0;
  int failed_fits = 0, failed_oom = 0;  // reason unknown: apart, in no accuracy
};

struct Score {
  int runs = 0;  // with a measured time and a prediction
  double mean_ape_percent = 0, median_ape_percent = 0, max_ape_percent = 0, bias_percent = 0;
  std::optional<double> kendall_tau;  // mean over groups of two or more
  std::optional<double> top1_regret_percent_median, top1_regret_percent_mean,
      top1_regret_percent_max;
  std::optional<double> top3_regret_percent_mean;
  std::optional<double> memory_median_ape_percent;
  std::optional<double> oom_accuracy_percent;
  OomConfusion oom_confusion;
  std::optional<double> interval_coverage_percent;
  std::optional<double> interval_width_percent;   // mean of (high - low) / predicted
  std::optional<IntervalRegime> interval_regime;  // the least known level, if there are several
};

struct GroupScore {
  std::string group;
  Score score;
};

struct Backtest {
  std::vector<PredictedRun> runs;
  std::vector<GroupScore> groups;  // in order of first appearance
  Score overall;
};

Backtest backtest(const MeasuredSet& set);

}  // namespace meshwright::planner
