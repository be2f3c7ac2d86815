// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan_fixture.h"
#include "reports/html.h"
#include "reports/record_schema.h"
#include "reports/report_json.h"
#include "schema_check.h"
#include "sim/base/error.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Json report_of(const planner::Plan& plan) {
  ReportContents contents;
  contents.plan = plan;
  contents.origin = sample_origin();
  contents.plan_origin = sample_origin();
  return report_to_json(contents);
}

Json compared(const planner::Plan& before, const planner::Plan& after) {
  return comparison_to_json(report_of(before), report_of(after), sample_origin());
}

// Everything 1.25 times slower: 1.00 s a step instead of 0.80 s.
planner::Plan slower_plan() {
  planner::Plan plan = sample_plan();
  plan.ranked = {plan.ranked[1]};
  plan.job.global_batch_size = 64;
  plan.cluster.inter_node.name = "Ethernet";
  plan.cluster.name = "other nodes";
  return plan;
}

planner::Plan empty_plan() {
  planner::Plan plan = sample_plan();
  plan.ranked.clear();
  plan.pareto.clear();
  return plan;
}

Json named(const Json& pairs, const std::string& name) {
  for (const Json& pair : pairs) {
    if (pair["name"] == name) return pair;
  }
  return {};
}

nlohmann::json plain(const Json& json) { return nlohmann::json::parse(json.dump()); }

TEST(Comparison, ObeysItsSchema) {
  EXPECT_EQ(complaint("comparison", plain(compared(sample_plan(), slower_plan()))), "");
  EXPECT_EQ(complaint("comparison", plain(compared(sample_plan(), empty_plan()))), "");
  nlohmann::json broken = plain(compared(sample_plan(), slower_plan()));
  broken["quantities"][0]["before"] = "many";
  EXPECT_NE(complaint("comparison", broken), "");
}

TEST(Comparison, ARecordWithoutAKeyIsRefusedByName) {
  const nlohmann::json whole = plain(report_of(sample_plan()));
  EXPECT_NO_THROW(require_report(whole, "r.json"));
  for (const auto& [key, value] : whole.items()) {
    nlohmann::json record = whole;
    record.erase(key);
    try {
      require_report(record, "r.json");
      ADD_FAILURE() << "accepted without " << key;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("r.json"), HasSubstr(key)));
    }
  }
}

// Its schema cannot say that a record with a summary has a winner.
TEST(Comparison, ARecordWithASummaryAndNoRankingIsCompared) {
  Json record = report_of(sample_plan());
  record["ranked"] = Json::array();
  EXPECT_NO_THROW(comparison_to_json(record, report_of(sample_plan()), sample_origin()));
}

TEST(Comparison, AReportWithItselfHasNoDifference) {
  const Json json = compared(sample_plan(), sample_plan());
  EXPECT_THAT(json["inputs_that_differ"], IsEmpty());
  for (const char* part : {"quantities", "terms_seconds", "fullest_stage_bytes", "sent_bytes"}) {
    EXPECT_THAT(json[part], Not(IsEmpty())) << part;
    for (const Json& pair : json[part]) EXPECT_EQ(pair["change"], 0.0) << pair;
  }
  EXPECT_THAT(json["sentence"].get<std::string>(),
              testing::AllOf(HasSubstr("same throughput"), HasSubstr("winner stays")));
}

// tokens/s: 1 / 1.25 - 1 = -20 %. The intervals 0.70 to 0.90 and 0.875 to 1.125 overlap.
TEST(Comparison, SaysHowMuchAndThatIntervalsOverlap) {
  const Json json = compared(sample_plan(), slower_plan());
  EXPECT_THAT(
      json["sentence"].get<std::string>(),
      testing::AllOf(HasSubstr("20.0 % less throughput"), HasSubstr("1.000 s instead of 800.0 ms"),
                     HasSubstr("was tp2 pp2 dp4 and is tp4 pp2 dp2"), HasSubstr("overlap")));
  const Json step = named(json["quantities"], "step_time_seconds");
  EXPECT_DOUBLE_EQ(step["change"].get<double>(), 0.2);
  // 0.05 s of tensor communication, times 1.25.
  const Json term = named(json["terms_seconds"], "tensor_parallel_communication");
  EXPECT_DOUBLE_EQ(term["after"].get<double>(), 0.0625);
  EXPECT_TRUE(named(json["terms_seconds"], "offload").is_null());
}

TEST(Comparison, NamesTheInputsThatDiffer) {
  const Json inputs = compared(sample_plan(), slower_plan())["inputs_that_differ"];
  ASSERT_EQ(inputs.size(), 1U) << inputs;
  EXPECT_EQ(inputs[0]["input"], "/cluster/name");
  EXPECT_EQ(inputs[0]["after"], "other nodes");
}

// The slower plan has the second layout only, as its first.
TEST(Comparison, FollowsLayoutsFromRankToRank) {
  const Json ranking = compared(sample_plan(), slower_plan())["ranking"];
  ASSERT_EQ(ranking.size(), 2U);
  EXPECT_EQ(ranking[0]["rank_before"], 1);
  EXPECT_TRUE(ranking[0]["rank_after"].is_null());
  EXPECT_EQ(ranking[1]["rank_before"], 2);
  EXPECT_EQ(ranking[1]["rank_after"], 1);
}

TEST(Comparison, SaysWhenALayoutNoLongerFits) {
  const Json json = compared(sample_plan(), empty_plan());
  EXPECT_THAT(json["sentence"].get<std::string>(), HasSubstr("now none does"));
  EXPECT_TRUE(named(json["quantities"], "step_time_seconds")["after"].is_null());
}

TEST(Comparison, PageShowsBothVerdictsAndItsRecordStaysData) {
  planner::Plan hostile = slower_plan();
  hostile.cluster.name = "</script><script>alert(1)</script>";
  const Json json = compared(sample_plan(), hostile);
  const std::string page = comparison_html(json);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert(1)")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("20.0 % less throughput"));
  EXPECT_THAT(page, HasSubstr("<caption>Terms of the winners&#39; steps</caption>"));
}

}  // namespace
}  // namespace meshwright::reports
