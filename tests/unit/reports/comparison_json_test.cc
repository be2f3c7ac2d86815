// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capacity_fixture.h"
#include "plan_fixture.h"
#include "reports/comparison_text.h"
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

Json report_of(const planner::Plan& plan) { return report_to_json(contents_of(plan)); }

Json compared(const std::vector<planner::Plan>& plans) {
  std::vector<ComparedReport> reports;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    reports.push_back(
        {std::string(1, static_cast<char>('a' + i)) + ".report.json", report_of(plans[i])});
  }
  return comparison_to_json(reports, sample_origin());
}

// Everything 1.25 times slower: 1.00 s a step instead of 0.80 s.
planner::Plan slower_plan() {
  planner::Plan plan = sample_plan();
  plan.ranked = {plan.ranked[1]};
  plan.pareto = {0};
  plan.job.global_batch_size = 64;
  plan.cluster.inter_node.name = "Ethernet";
  plan.cluster.name = "other nodes";
  return plan;
}

planner::Plan empty_plan() {
  planner::Plan plan = sample_plan();
  plan.ranked.clear();
  plan.pareto.clear();
  plan.cluster.device.memory = gibibytes(0.001);
  return plan;
}

Json named(const Json& rows, const std::string& name) {
  for (const Json& row : rows) {
    if (row["name"] == name) return row;
  }
  return {};
}

std::string sentence_of(const Json& json) { return json["sentence"].get<std::string>(); }

TEST(Comparison, ObeysItsSchemaForTwoAndForMore) {
  EXPECT_EQ(complaint("comparison", plain(compared({sample_plan(), slower_plan()}))), "");
  const Json three = compared({sample_plan(), empty_plan(), slower_plan()});
  EXPECT_EQ(complaint("comparison", plain(three)), "");
  for (const Json& quantity : three["quantities"]) EXPECT_EQ(quantity["values"].size(), 3U);
  Json broken = plain(three);
  broken["quantities"][0]["values"][0] = "many";
  EXPECT_NE(complaint("comparison", broken), "");
}

TEST(Comparison, ARecordWithoutAKeyIsRefusedByName) {
  const Json whole = plain(report_of(sample_plan()));
  EXPECT_NO_THROW(require_report(whole, "r.json"));
  for (const auto& [key, value] : whole.items()) {
    Json record = whole;
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
  EXPECT_NO_THROW(comparison_to_json({{"a.json", record}, {"b.json", report_of(sample_plan())}},
                                     sample_origin()));
}

TEST(Comparison, AReportWithItselfHasNoDifference) {
  const Json json = compared({sample_plan(), sample_plan()});
  EXPECT_THAT(json["inputs_that_differ"], IsEmpty());
  for (const char* part : {"quantities", "terms_seconds", "fullest_stage_bytes", "sent_bytes"}) {
    EXPECT_THAT(json[part], Not(IsEmpty())) << part;
    for (const Json& row : json[part]) {
      const Json& change = row["change_percent"][1];
      EXPECT_TRUE(change.is_null() || change == 0.0) << row;
    }
  }
}

// tokens/s: 1 / 1.25 - 1 = -20 %. The intervals 0.70 to 0.90 and 0.875 to 1.125 overlap.
TEST(Comparison, SaysWhoIsFastestAndThatIntervalsOverlap) {
  const Json json = compared({slower_plan(), sample_plan()});
  EXPECT_THAT(sentence_of(json),
              testing::AllOf(HasSubstr("Most tokens/s first: b 163.8 k tokens/s with tp2 pp2 dp4"),
                             HasSubstr("a 131.1 k tokens/s with tp4 pp2 dp2 on 16 GPUs (-20.0 %)"),
                             HasSubstr("of b and a overlap")));
  const Json step = named(json["quantities"], "step_time_seconds");
  EXPECT_NEAR(step["change_percent"][1].get<double>(), -20.0, 1e-9);
  EXPECT_DOUBLE_EQ(step["low"][0].get<double>(), 0.875);
  // 0.05 s of tensor communication, times 1.25.
  const Json term = named(json["terms_seconds"], "tensor_parallel_communication");
  EXPECT_DOUBLE_EQ(term["values"][0].get<double>(), 0.0625);
  EXPECT_TRUE(named(json["terms_seconds"], "offload").is_null());
}

TEST(Comparison, NamesTheInputsThatDifferInWords) {
  const Json inputs = compared({sample_plan(), slower_plan()})["inputs_that_differ"];
  ASSERT_EQ(inputs.size(), 1U) << inputs;
  EXPECT_EQ(inputs[0]["pointer"], "/cluster/name");
  EXPECT_EQ(inputs[0]["words"], "cluster: name");
  EXPECT_EQ(inputs[0]["values"][1], "other nodes");
  EXPECT_EQ(words_of_pointer("/cluster/gpus_per_node"), "cluster: GPUs per node");
  EXPECT_EQ(words_of_pointer("/model/num_moe_experts"), "model: number of MoE experts");
  EXPECT_EQ(words_of_pointer("/plan/tool_version"), "plan: version of meshwright");
}

// The slower plan has the second layout only, as its first.
TEST(Comparison, FollowsLayoutsFromRankToRank) {
  const Json ranking = compared({sample_plan(), slower_plan()})["ranking"];
  ASSERT_EQ(ranking.size(), 2U);
  EXPECT_EQ(ranking[0]["ranks"], Json::array({1, nullptr}));
  EXPECT_EQ(ranking[1]["ranks"], Json::array({2, 1}));
}

TEST(Comparison, SaysWhereNoLayoutFits) {
  const Json json = compared({sample_plan(), empty_plan()});
  EXPECT_THAT(sentence_of(json), HasSubstr("Only in one report a layout fits: a"));
  EXPECT_TRUE(named(json["quantities"], "step_time_seconds")["values"][1].is_null());
  EXPECT_EQ(sentence_of(compared({empty_plan(), empty_plan()})),
            "No layout fits in any of the reports.");
}

TEST(Comparison, ReportsOfOneNameAreNumbered) {
  const Json record = report_of(sample_plan());
  const Json json =
      comparison_to_json({{"q.report.json", record}, {"q.report.json", record}}, sample_origin());
  EXPECT_EQ(json["reports"][0]["name"], "q");
  EXPECT_EQ(json["reports"][1]["name"], "q #2");
}

TEST(Comparison, PageShowsEveryVerdictAndItsRecordStaysData) {
  planner::Plan hostile = slower_plan();
  hostile.cluster.name = "</script><script>alert(1)</script>";
  const Json json = compared({sample_plan(), hostile, empty_plan()});
  const std::string page = comparison_html(json);
  EXPECT_THAT(page, Not(HasSubstr("<script>alert(1)")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(page, HasSubstr("(-20.0 %)"));
  EXPECT_THAT(page, HasSubstr("<caption>Terms of the best layouts&#39; steps</caption>"));
  for (const char* figure : {"compared_steps", "compared_ranges", "compared_memory"}) {
    EXPECT_THAT(page, HasSubstr(std::string("data-chart=\"") + figure + "\""));
  }
}

}  // namespace
}  // namespace meshwright::reports
