// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/accuracy_list.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/record/json.h"

namespace meshwright::planner {
namespace {

std::vector<AccuracyRow> read(const std::string& rows) {
  return accuracy_rows_from_json(
      Json::parse(R"({"schema": "meshwright.accuracy/1", "rows": )" + rows + "}"), "list.json");
}

MeasuredRun measured_run(const std::string& group, int positions) {
  MeasuredRun run;
  run.group = group;
  run.job.seq_length = positions;
  return run;
}

TEST(AccuracyList, ARowTakesItsGroupsAndItsSequenceLengths) {
  const AccuracyRow row =
      read(R"([{"name": "n", "set": "s.json", "groups": ["a"], "shorter_than": 100}])").front();
  MeasuredSet set;
  set.runs = {measured_run("a 1", 99), measured_run("a 2", 100), measured_run("b", 99)};
  const MeasuredSet left = runs_of(row, set);
  ASSERT_EQ(left.runs.size(), 1U);
  EXPECT_EQ(left.runs.front().group, "a 1");
}

TEST(AccuracyList, PastALimitIsSaidWithBothNumbers) {
  Score score;
  score.runs = 1;
  score.mean_ape_percent = 9.0;
  score.interval_coverage_percent = 80.0;
  const AccuracyLimits limits = read(R"([{"name": "n", "set": "s.json",
                "limits": {"mean_error_percent": 8, "inside_interval_percent": 85}}])")
                                    .front()
                                    .limits;
  const auto past = past_limits(limits, score);
  ASSERT_EQ(past.size(), 2U);
  EXPECT_EQ(past[0], "mean error 9 % of at most 8 %");
  EXPECT_EQ(past[1], "80 % inside the interval, of at least 85 %");
  score.mean_ape_percent = 8.0;
  score.interval_coverage_percent = 85.0;
  EXPECT_TRUE(past_limits(limits, score).empty());
  EXPECT_FALSE(past_limits(limits, Score{}).empty());
}

TEST(AccuracyList, TauAndTheWorstRunHaveLimits) {
  Score score;
  score.runs = 2;
  score.max_ape_percent = 5.0;
  score.kendall_tau = 0.5;
  AccuracyLimits limits;
  limits.worst_error = 5.0;
  limits.kendall_tau = 0.5;
  EXPECT_TRUE(past_limits(limits, score).empty());
  limits.worst_error = 4.0;
  limits.kendall_tau = 0.6;
  const auto past = past_limits(limits, score);
  ASSERT_EQ(past.size(), 2U);
  EXPECT_EQ(past[0], "worst error 5 % of at most 4 %");
  EXPECT_EQ(past[1], "tau 0.5 of at least 0.6");
}

TEST(AccuracyList, AnUnknownKeyIsRefused) {
  EXPECT_THROW(read(R"([{"name": "n", "set": "s.json", "limit": 3}])"), InputError);
}

}  // namespace
}  // namespace meshwright::planner
