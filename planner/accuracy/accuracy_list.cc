// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/accuracy_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/accuracy/list_limit.h"
#include "sim/base/number_text.h"

namespace meshwright::planner {
namespace {

constexpr std::size_t kMostRows = 1'000;
const Record<AccuracyLimits>& accuracy_limits_record() {
  return described([](Record<AccuracyLimits>& r) {
    using L = AccuracyLimits;
    r.about("Limits; one that is not stated is not asked for.");
    r.row<&L::mean_error>("mean_error_percent", NumberRange{0.0, 1000.0},
                          "Mean error of step times, at most.");
    r.row<&L::median_error>("median_error_percent", NumberRange{0.0, 1000.0},
                            "Median error, at most.");
    r.row<&L::worst_error>("worst_error_percent", NumberRange{0.0, 1000.0},
                           "Largest error, at most.");
    r.row<&L::memory_error>("memory_error_percent", NumberRange{0.0, 1000.0},
                            "Median error of memory, at most.");
    r.row<&L::regret>("regret_percent", NumberRange{0.0, 1000.0},
                      "Time lost by the layouts that are predicted fastest, at most.");
    r.row<&L::inside_interval>("inside_interval_percent", NumberRange{0.0, 1000.0},
                               "Runs inside their 90 % interval, at least.");
    r.row<&L::kendall_tau>(NumberRange{-1.0, 1.0}, "Kendall's tau of the order, at least.");
  });
}

const Record<AccuracyRow>& accuracy_row_record() {
  return described([](Record<AccuracyRow>& r) {
    using R = AccuracyRow;
    r.about("A set of measured runs, or some of its runs.");
    r.row<&R::name>("Name of the row.").required();
    r.row<&R::set>("File of measured runs.").required();
    r.row<&R::framework>("Framework that ran them; default: the runs' own, or their cluster's.");
    r.row<&R::cluster>("Cluster instead of the runs' own.");
    r.row<&R::groups>("Starts of the groups or ids of the runs; default: all runs.");
    r.row<&R::at_least>(IntRange{0, 100'000'000}, "Fewest tokens of a sequence.");
    r.row<&R::shorter_than>(IntRange{0, 100'000'000}, "Sequences are shorter than this; 0: any.");
    r.row<&R::limits>(accuracy_limits_record);
  });
}

}  // namespace

const Record<AccuracyList>& accuracy_list_record() {
  return described([](Record<AccuracyList>& r) {
    r.about("Sets of measured runs with the errors that they may have.");
    r.file_of({"meshwright.accuracy/1"}, true);
    limit_list(r, "rows", kMostRows);
    r.row<&AccuracyList::rows>(accuracy_row_record, "One row a set.");
    r.required();
  });
}

std::vector<AccuracyRow> accuracy_rows_from_json(const Json& json, const std::string& file) {
  return accuracy_list_record().read(json, file).rows;
}

MeasuredSet runs_of(const AccuracyRow& row, MeasuredSet set) {
  std::erase_if(set.runs, [&row](const MeasuredRun& run) {
    const bool named =
        row.groups.empty() ||
        std::any_of(row.groups.begin(), row.groups.end(), [&run](const std::string& start) {
          return run.group.starts_with(start) || run.id.starts_with(start);
        });
    const int positions = run.job.seq_length;
    return !named || positions < row.at_least ||
           (row.shorter_than > 0 && positions >= row.shorter_than);
  });
  return set;
}

std::vector<std::string> past_limits(const AccuracyLimits& limits, const Score& score) {
  std::vector<std::string> past;
  if (score.runs == 0) return {"no run could be predicted"};
  const auto check = [&past](const char* what, std::optional<double> value,
                             std::optional<double> most) {
    if (!most) return;
    if (!value) past.push_back(fmt::format("no {}, which has a limit", what));
    if (value && *value > *most)
      past.push_back(fmt::format("{} {} % of at most {} %", what, number_text(*value, 3),
                                 number_text(*most, 3)));
  };
  check("mean error", score.mean_ape_percent, limits.mean_error);
  check("median error", score.median_ape_percent, limits.median_error);
  check("worst error", score.max_ape_percent, limits.worst_error);
  check("memory error", score.memory_median_ape_percent, limits.memory_error);
  check("regret", score.top1_regret_percent_mean, limits.regret);
  const double inside = score.interval_coverage_percent.value_or(0.0);
  if (limits.inside_interval && inside < *limits.inside_interval) {
    past.push_back(fmt::format("{} % inside the interval, of at least {} %", number_text(inside, 3),
                               number_text(*limits.inside_interval, 3)));
  }
  const double tau = score.kendall_tau.value_or(-1.0);
  if (limits.kendall_tau && tau < *limits.kendall_tau) {
    past.push_back(fmt::format("tau {} of at least {}", number_text(tau, 3),
                               number_text(*limits.kendall_tau, 3)));
  }
  return past;
}

}  // namespace meshwright::planner
