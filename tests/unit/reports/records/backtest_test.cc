// SPDX-License-Identifier: Apache-2.0
#include "reports/records/backtest.h"

#include <gtest/gtest.h>

#include "tests/unit/reports/plan_fixture.h"

namespace meshwright::reports {
namespace {

planner::MeasuredSet measured_set() {
  planner::MeasuredSet set{.name = "set", .source = "a paper", .assumed = "bf16", .runs = {}};
  for (const char* id : {"priced", "refused"}) {
    planner::MeasuredRun& run = set.runs.emplace_back();
    run.id = id;
    run.group = "all";
    run.layout = sample_plan().ranked.front().layout;
    run.step_time = seconds(0.75);
  }
  return set;
}

TEST(BacktestFile, SaysWhatIsThereAndIsReadAsItIsWritten) {
  planner::Backtest backtest;
  backtest.runs.resize(2);
  backtest.runs[0].estimate = sample_plan().ranked.front();
  backtest.runs[0].step_time_error = 0.25;
  backtest.runs[1].run = 1;
  backtest.runs[1].violation = Violation{.rule = Rule::memory_capacity};
  backtest.groups.resize(1);
  backtest.groups[0].score.kendall_tau = 0.5;
  const Json json = backtest_file_record().write(backtest_file_of(measured_set(), backtest));
  EXPECT_EQ(json["groups"][0]["kendall_tau"], 0.5);
  EXPECT_TRUE(json["overall"]["kendall_tau"].is_null());
  const Json& priced = json["runs"][0];
  EXPECT_EQ(priced["predicted"]["terms_seconds"]["tensor_parallel_communication"], 0.05);
  EXPECT_EQ(priced["step_time_error_percent"], 25.0);
  const Json& refused = json["runs"][1];
  EXPECT_EQ(refused["predicted"].dump(), R"({"fits":false,"violation":"memory_capacity"})");
  const BacktestFile read = backtest_file_record().read(Json::parse(json.dump()), "backtest.json");
  EXPECT_EQ(backtest_file_record().write(read).dump(), json.dump());
}

TEST(PicksFile, HasNoClaimWithoutBothPrices) {
  planner::Pick pick;
  pick.run = 1;
  pick.refused = Violation{.rule = Rule::memory_capacity};
  pick.ours = sample_plan().ranked.front();
  pick.claim = 0.1;
  const Json json = picks_file_record().write(picks_file_of(measured_set(), {pick}));
  EXPECT_EQ(json["set"], "set");
  const Json& run = json["runs"][0];
  EXPECT_EQ(run["refused_by"], "memory_capacity");
  EXPECT_TRUE(run["theirs"].is_null() && run["claim"].is_null());
  EXPECT_EQ(run["ours"]["step_time_seconds"], 0.80);
  const PicksFile read = picks_file_record().read(Json::parse(json.dump()), "picks.json");
  EXPECT_EQ(picks_file_record().write(read).dump(), json.dump());
}

}  // namespace
}  // namespace meshwright::reports
