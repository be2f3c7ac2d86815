// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/backtest.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "planner/accuracy/validation.h"
#include "sim/base/statistics.h"
#include "sim/memory/memory.h"

namespace meshwright::planner {
namespace {

double percent(double ratio) { return 100.0 * ratio; }

PredictedRun predict(const MeasuredRun& run, std::size_t index) {
  PredictedRun predicted;
  predicted.run = index;
  // A run that is predicted not to fit still gets a time: the ranking may be right where memory is
  // not.
  CostTable table(run);
  const Evaluation evaluation = evaluate(table, run.layout, MemoryLimit::reported);
  predicted.violation = evaluation.violation;
  if (evaluation.violation && evaluation.violation->rule != Rule::memory_capacity) return predicted;
  predicted.estimate = described(evaluation, table, run.layout);
  const Estimate& found = *predicted.estimate;
  if (run.status != RunStatus::ok) return predicted;
  if (run.step_time) {
    predicted.step_time_error = found.step_time / *run.step_time - 1.0;
    predicted.inside_interval =
        found.step_time_low <= *run.step_time && *run.step_time <= found.step_time_high;
  }
  // Measured is what the framework prints: what it allocated, without the reserve for fragments and
  // libraries, or what its allocator reserved.
  if (run.peak_memory) {
    const Bytes printed = printed_peak(found.peak_allocated(), run.cluster.framework.memory,
                                       only_device(run.cluster));
    predicted.memory_error = printed / *run.peak_memory - 1.0;
  }
  return predicted;
}

void count(OomConfusion& confusion, RunStatus status, bool fits) {
  switch (status) {
    case RunStatus::ok:
      ++(fits ? confusion.ok_fits : confusion.ok_oom);
      return;
    case RunStatus::oom:
      ++(fits ? confusion.oom_fits : confusion.oom_oom);
      return;
    case RunStatus::failed:
      ++(fits ? confusion.failed_fits : confusion.failed_oom);
      return;
  }
}

// Slowdown of the best of the first `top` predicted, against the best measured.
double regret(const std::vector<double>& predicted, const std::vector<double>& measured,
              std::size_t top) {
  std::vector<std::size_t> order(predicted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return predicted[a] < predicted[b]; });
  double best = measured[order[0]];
  for (std::size_t i = 0; i < std::min(top, order.size()); ++i)
    best = std::min(best, measured[order[i]]);
  return percent(best / *std::min_element(measured.begin(), measured.end()) - 1.0);
}

struct Ranking {
  std::vector<double> tau, top1, top3;
};

void add_group(Ranking& ranking, const std::vector<double>& predicted,
               const std::vector<double>& measured) {
  if (predicted.size() < 2) return;
  ranking.tau.push_back(kendall_tau(predicted, measured));
  ranking.top1.push_back(regret(predicted, measured, 1));
  ranking.top3.push_back(regret(predicted, measured, 3));
}

struct Series {
  std::vector<double> predicted, measured;
};

Score score_of(const MeasuredSet& set, const std::vector<const PredictedRun*>& runs) {
  Score score;
  std::vector<double> errors;
  std::vector<double> signed_errors;
  std::vector<double> memory_errors;
  std::map<std::string, Series> groups;
  double inside = 0, width = 0;
  for (const PredictedRun* predicted : runs) {
    const MeasuredRun& run = set.runs[predicted->run];
    count(score.oom_confusion, run.status, !predicted->violation);
    if (predicted->memory_error)
      memory_errors.push_back(percent(std::abs(*predicted->memory_error)));
    if (!predicted->step_time_error) continue;
    errors.push_back(percent(std::abs(*predicted->step_time_error)));
    signed_errors.push_back(percent(*predicted->step_time_error));
    inside += predicted->inside_interval ? 1 : 0;
    const Estimate& found = *predicted->estimate;
    width += (found.step_time_high - found.step_time_low) / found.step_time;
    score.interval_regime =
        std::max(found.interval_regime, score.interval_regime.value_or(found.interval_regime));
    groups[run.group].predicted.push_back(predicted->estimate->step_time.value());
    groups[run.group].measured.push_back(run.step_time->value());
  }
  score.runs = static_cast<int>(errors.size());
  if (!memory_errors.empty()) score.memory_median_ape_percent = median(memory_errors);
  const OomConfusion& c = score.oom_confusion;
  const int judged = c.ok_fits + c.ok_oom + c.oom_fits + c.oom_oom;
  if (judged > 0)
    score.oom_accuracy_percent = percent(static_cast<double>(c.ok_fits + c.oom_oom) / judged);
  if (errors.empty()) return score;
  score.mean_ape_percent = mean(errors);
  score.median_ape_percent = median(errors);
  score.max_ape_percent = *std::max_element(errors.begin(), errors.end());
  score.bias_percent = mean(signed_errors);
  score.interval_coverage_percent = percent(inside / static_cast<double>(errors.size()));
  score.interval_width_percent = percent(width / static_cast<double>(errors.size()));
  Ranking ranking;
  for (const auto& [name, series] : groups) add_group(ranking, series.predicted, series.measured);
  if (ranking.tau.empty()) return score;
  score.kendall_tau = mean(ranking.tau);
  score.top1_regret_percent_median = median(ranking.top1);
  score.top1_regret_percent_mean = mean(ranking.top1);
  score.top1_regret_percent_max = *std::max_element(ranking.top1.begin(), ranking.top1.end());
  score.top3_regret_percent_mean = mean(ranking.top3);
  return score;
}

}  // namespace

Backtest backtest(const MeasuredSet& set) {
  Backtest result;
  result.runs.reserve(set.runs.size());
  for (std::size_t i = 0; i < set.runs.size(); ++i) result.runs.push_back(predict(set.runs[i], i));
  std::vector<const PredictedRun*> all;
  std::vector<std::string> order;
  std::map<std::string, std::vector<const PredictedRun*>> groups;
  for (const PredictedRun& run : result.runs) {
    all.push_back(&run);
    const std::string& group = set.runs[run.run].group;
    if (groups.find(group) == groups.end()) order.push_back(group);
    groups[group].push_back(&run);
  }
  for (const std::string& group : order)
    result.groups.push_back({group, score_of(set, groups[group])});
  result.overall = score_of(set, all);
  return result;
}

}  // namespace meshwright::planner
