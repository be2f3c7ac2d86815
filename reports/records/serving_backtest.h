// SPDX-License-Identifier: Apache-2.0
// The answer of serve backtest as a record.
#pragma once

#include <string>
#include <vector>

#include "planner/serving/serving_backtest.h"
#include "reports/records/origin.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// One point and what was said of it.
struct ServingBacktestPoint {
  std::string id{}, group{}, engine{}, deployment{}, refused{};
  std::vector<std::string> assumed{};
  bool speculation_unknown = false;
  double concurrency = 0;
  double largest_batch = 0;
  planner::ServingValues measured{}, predicted{};
  std::array<double, planner::kNumServingQuantities> spread{};
};
struct ServingBacktestFile {
  Origin origin{};
  std::string set{};
  bool simulated = true;
  std::vector<planner::ServingScore> scores{};
  std::vector<planner::LayoutChoice> choices{};
  std::vector<ServingBacktestPoint> points{};
  std::vector<planner::UnreadService> unread{};
};
ServingBacktestFile serving_backtest_file(const planner::MeasuredServices& set,
                                          const std::vector<planner::PredictedService>& predictions,
                                          bool simulated);
const Record<ServingBacktestFile>& serving_backtest_record();

}  // namespace meshwright::reports
