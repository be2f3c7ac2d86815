// SPDX-License-Identifier: Apache-2.0
// The accuracy of the model over many sets of measured runs: one row a set, judged under the
// software that ran it, with the largest error that the row may have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/accuracy/backtest.h"
#include "sim/record/record.h"

namespace meshwright::planner {

// In per cent, but for tau. A limit that is not stated is not asked for.
struct AccuracyLimits {
  std::optional<double> mean_error, median_error, worst_error, memory_error, regret;  // at most
  std::optional<double> inside_interval, kendall_tau;                                 // at least
  bool operator==(const AccuracyLimits&) const = default;
};

struct AccuracyRow {
  std::string name;
  std::string set;        // file of measured runs
  std::string framework;  // software of the runs; empty: as each run or its cluster states
  std::string cluster;    // instead of the runs' own; empty: theirs
  std::vector<std::string> groups;     // runs whose group or id begins so; empty: all
  int at_least = 0, shorter_than = 0;  // positions a sequence; 0: any
  AccuracyLimits limits;
  bool operator==(const AccuracyRow&) const = default;
};

struct AccuracyList {
  std::vector<AccuracyRow> rows;
};
const Record<AccuracyList>& accuracy_list_record();

// Schema "meshwright.accuracy/1". Throws InputError.
std::vector<AccuracyRow> accuracy_rows_from_json(const Json& json, const std::string& file);

// The runs of a set that the row is about.
MeasuredSet runs_of(const AccuracyRow& row, MeasuredSet set);

// Sentence about an exceeded limit: "mean error 9.1 % of at most 8 %".
std::vector<std::string> past_limits(const AccuracyLimits& limits, const Score& score);

}  // namespace meshwright::planner
