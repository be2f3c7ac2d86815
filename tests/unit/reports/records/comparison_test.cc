// SPDX-License-Identifier: Apache-2.0
#include "reports/records/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/page.h"
#include "reports/records/comparison_text.h"
#include "reports/records/report.h"
#include "reports/sections/comparison_charts.h"
#include "sim/base/error.h"
#include "tests/unit/reports/capacity_fixture.h"
#include "tests/unit/reports/plan_fixture.h"
#include "tests/unit/reports/schema_check.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Report report_from(const planner::Plan& plan) { return report_of(contents_of(plan)); }

Comparison compared(const std::vector<Report>& reports) {
  std::vector<ComparedReport> named;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    named.push_back({std::string(1, static_cast<char>('a' + i)) + ".report.json", reports[i]});
  }
  return comparison_of(named, sample_origin());
}

Json written(const Comparison& comparison) { return plain(comparison_record().write(comparison)); }

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

// Made once: capacity's questions are a report's work.
const Report& faster_report() {
  static const Report report = report_from(sample_plan());
  return report;
}
const Report& slower_report() {
  static const Report report = report_from(slower_plan());
  return report;
}
const Report& empty_report() {
  static const Report report = report_from(empty_plan());
  return report;
}

template <typename Row>
const Row* named(const std::vector<Row>& rows, const std::string& name) {
  for (const Row& row : rows) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

TEST(Comparison, ObeysItsSchemaForTwoAndForMore) {
  EXPECT_EQ(complaint("comparison", written(compared({faster_report(), slower_report()}))), "");
  const Json three = written(compared({faster_report(), empty_report(), slower_report()}));
  EXPECT_EQ(complaint("comparison", three), "");
  for (const Json& quantity : three["quantities"]) EXPECT_EQ(quantity["values"].size(), 3U);
  Json broken = three;
  broken["quantities"][0]["values"][0] = "many";
  EXPECT_NE(complaint("comparison", broken), "");
}

TEST(Comparison, DifferencesAreBarsAgainstTheFirst) {
  // 0.80 s a step and 1.00 s: 25 % more.
  const std::string chart = differences_chart(compared({faster_report(), slower_report()}));
  EXPECT_THAT(chart, HasSubstr("relative to a, in percent"));
  EXPECT_THAT(chart, HasSubstr(">+25"));
  EXPECT_EQ(differences_chart(compared({faster_report(), faster_report()})), "");
}

TEST(Comparison, CountsAreWrittenAsIntegers) {
  const Json json = written(compared({faster_report(), slower_report()}));
  EXPECT_EQ(json["quantities"][0]["name"], "gpus");
  EXPECT_TRUE(json["quantities"][0]["values"][0].is_number_integer());
  EXPECT_TRUE(json["ranking"][0]["ranks"][0].is_number_integer());
  EXPECT_TRUE(json["terms_seconds"][0]["values"][0].is_number_float());
}

TEST(Comparison, AReportWithoutAKeyIsRefusedByName) {
  const Json whole = plain(report_record().write(faster_report()));
  EXPECT_NO_THROW(static_cast<void>(report_record().read(whole, "r.json")));
  for (const char* key : {"plan", "model", "job", "cluster", "ranked", "capacity", "volume"}) {
    Json report = whole;
    report.erase(key);
    try {
      static_cast<void>(report_record().read(report, "r.json"));
      ADD_FAILURE() << "accepted without " << key;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("r.json"), HasSubstr(key)));
    }
  }
}

// No row can say that a report with a summary has a winner.
TEST(Comparison, AReportWithASummaryAndNoRankingIsCompared) {
  Report report = faster_report();
  report.ranked.clear();
  EXPECT_NO_THROW(
      comparison_of({{"a.json", report}, {"b.json", faster_report()}}, sample_origin()));
}

TEST(Comparison, AReportWithItselfHasNoDifference) {
  const Comparison same = compared({faster_report(), faster_report()});
  EXPECT_THAT(same.inputs_that_differ, IsEmpty());
  std::vector<ComparedRow> rows(same.quantities.begin(), same.quantities.end());
  for (const auto& part : {same.terms, same.fullest_stage, same.sent}) {
    EXPECT_THAT(part, Not(IsEmpty()));
    rows.insert(rows.end(), part.begin(), part.end());
  }
  for (const ComparedRow& row : rows) EXPECT_EQ(changes_of(row)[1].value_or(0.0), 0.0) << row.name;
}

// tokens/s: 1 / 1.25 - 1 = -20 %. The intervals 0.70 to 0.90 and 0.875 to 1.125 overlap.
TEST(Comparison, SaysWhoIsFastestAndThatIntervalsOverlap) {
  const Comparison made = compared({slower_report(), faster_report()});
  EXPECT_THAT(comparison_sentence(made),
              testing::AllOf(HasSubstr("Most tokens/s first: b 163.8 k tokens/s with tp2 pp2 dp4"),
                             HasSubstr("a 131.1 k tokens/s with tp4 pp2 dp2 on 16 GPUs (-20.0 %)"),
                             HasSubstr("of b and a overlap")));
  const ComparedQuantity* step = named(made.quantities, "step_time_seconds");
  ASSERT_NE(step, nullptr);
  EXPECT_NEAR(changes_of(*step)[1].value(), -20.0, 1e-9);
  EXPECT_DOUBLE_EQ(step->low[0].value(), 0.875);
  // 0.05 s of tensor communication, times 1.25.
  const ComparedRow* term = named(made.terms, "tensor_parallel_communication");
  ASSERT_NE(term, nullptr);
  EXPECT_DOUBLE_EQ(term->values.each[0].value(), 0.0625);
  EXPECT_EQ(named(made.terms, "offload"), nullptr);
}

TEST(Comparison, NamesTheInputsThatDifferInWords) {
  const Json inputs = written(compared({faster_report(), slower_report()}))["inputs_that_differ"];
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
  const std::vector<ComparedLayout> ranking = compared({faster_report(), slower_report()}).ranking;
  ASSERT_EQ(ranking.size(), 2U);
  EXPECT_EQ(ranking[0].ranks.each, (NumberOfEach{1, std::nullopt}));
  EXPECT_EQ(ranking[1].ranks.each, (NumberOfEach{2, 1}));
}

TEST(Comparison, SaysWhereNoLayoutFits) {
  const Comparison made = compared({faster_report(), empty_report()});
  EXPECT_THAT(comparison_sentence(made), HasSubstr("Only in one report a layout fits: a"));
  const ComparedQuantity* step = named(made.quantities, "step_time_seconds");
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->values.each[1], std::nullopt);
  EXPECT_EQ(comparison_sentence(compared({empty_report(), empty_report()})),
            "No layout fits in any of the reports.");
}

TEST(Comparison, ReportsOfOneNameAreNumbered) {
  const Report report = faster_report();
  const Comparison made =
      comparison_of({{"q.report.json", report}, {"q.report.json", report}}, sample_origin());
  EXPECT_EQ(made.reports[0].name, "q");
  EXPECT_EQ(made.reports[1].name, "q #2");
}

TEST(Comparison, PageShowsEveryVerdictAndItsRecordStaysData) {
  planner::Plan hostile = slower_plan();
  hostile.cluster.name = "</script><script>alert(1)</script>";
  const std::string page =
      comparison_html(compared({faster_report(), report_from(hostile), empty_report()}));
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
