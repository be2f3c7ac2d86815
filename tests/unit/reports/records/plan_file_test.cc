// SPDX-License-Identifier: Apache-2.0
#include "reports/records/plan_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/json/records.h"
#include "sim/record/without_key.h"
#include "tests/unit/error_of.h"
#include "tests/unit/reports/answered_plan.h"

namespace meshwright::reports {
namespace {

// As a reader of the file has it.
Json written(const PlanFile& plan) { return Json::parse(plan_file_record().write(plan).dump()); }

PlanFile plan_in(const Json& json) { return plan_file_record().read(json, "plan.json"); }

Json sample_json() {
  planner::SearchOptions search;
  search.top = 3;
  search.memory_headroom = 0.05;
  search.space[&Layout::tensor_parallel_size] = {1, 2, 4};
  search.space[&Layout::sequence_parallel] = {true};
  search.space[&Layout::recompute_granularity] = {RecomputeGranularity::selective};
  search.space[&Layout::schedule] = {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1};
  search.space.stage_splits = {{.num_layers_in_first_pipeline_stage = 1}};
  return written(plan_file_of(sample_plan(), sample_origin(), search));
}

Json answered_json() {
  const AnsweredPlan a = answered_plan();
  return written(plan_file_of(a.plan, sample_origin(), a.search, a.answers));
}

std::string plan_error(const Json& json) {
  return error_of([&] { plan_in(json); });
}

TEST(PlanFile, GivesBackWhatItWasMadeFrom) {
  const planner::Plan plan = sample_plan();
  const PlanFile read = plan_in(sample_json());
  EXPECT_EQ(read.model, plan.model);
  EXPECT_EQ(read.job, plan.job);
  EXPECT_EQ(read.cluster.num_gpus(), 16);
  ASSERT_EQ(read.ranked.size(), 2U);
  EXPECT_EQ(read.ranked[0].layout, plan.ranked[0].layout);
  EXPECT_EQ(read.ranked[1].layout, plan.ranked[1].layout);
  EXPECT_EQ(read.ranked[1].step_time, plan.ranked[1].step_time);
  EXPECT_EQ(read.ranked[1].peak_memory, plan.ranked[1].peak_memory());
  EXPECT_EQ(read.pareto, plan.pareto);
  ASSERT_EQ(read.rejections.size(), 1U);
  EXPECT_EQ(read.rejections[0].rule, Rule::memory_capacity);
  EXPECT_EQ(read.rejections[0].count, 12);
  EXPECT_EQ(read.rejections[0].nearest.layout, plan.rejections[0].nearest.layout);
  EXPECT_EQ(read.rejections[0].nearest.violation.rule, Rule::memory_capacity);
  EXPECT_EQ(read.rejections[0].nearest.violation.needed, gibibytes(96).value());
  EXPECT_EQ(read.rejections[0].sentence, "needs 96 GiB of 80 GiB");
  EXPECT_EQ(read.statistics.fitting, 28);
  EXPECT_EQ(read.notes, plan.notes);
  EXPECT_EQ(read.origin.inputs.size(), 2U);
}

TEST(PlanFile, RemembersWhatTheSearchLookedAt) {
  const PlanFile read = plan_in(sample_json());
  EXPECT_EQ(read.search.top, 3);
  EXPECT_EQ(read.search.memory_headroom, 0.05);
  EXPECT_THAT(read.search.space[&Layout::tensor_parallel_size], testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(read.search.space[&Layout::sequence_parallel], testing::ElementsAre(true));
  EXPECT_THAT(read.search.space[&Layout::recompute_granularity],
              testing::ElementsAre(RecomputeGranularity::selective));
  EXPECT_THAT(read.search.space[&Layout::schedule],
              testing::ElementsAre(PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1));
  ASSERT_EQ(read.search.space.stage_splits.size(), 1U);
  EXPECT_EQ(read.search.space.stage_splits[0].num_layers_in_last_pipeline_stage, 0);
}

TEST(PlanFile, GivesBackItsAnswers) {
  Json json = answered_json();
  const PlanFile read = plan_in(json);
  ASSERT_TRUE(read.answers);
  EXPECT_EQ(plan_answers_record().write(*read.answers).dump(), json["answers"].dump());
  ASSERT_NE(read.scaling(), nullptr);
  EXPECT_EQ(read.scaling()->points.size(), 2U);
  json["answers"]["scaling"]["points"][1]["gpus"] = "many";
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/answers/scaling/points/1/gpus"));
}

TEST(PlanFile, ProposesRunsOfItsRankingOnly) {
  Json json = answered_json();
  json["answers"]["confidence"]["proposed_runs"] = Json::parse(
      R"([{"rank": 2, "short_name": "dp16", "brief_name": "dp16", "runs": 3, "reason": "near"}])");
  EXPECT_THAT(plan_in(json).proposed_runs(), testing::ElementsAre(1U));
  json["answers"]["confidence"]["proposed_runs"][0]["rank"] = 900;
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/answers/confidence/proposed_runs/0/rank"));
}

TEST(PlanFile, IsTheSameTextEveryTime) {
  const std::string text = written(plan_file_of(sample_plan(), sample_origin())).dump();
  EXPECT_EQ(written(plan_file_of(sample_plan(), sample_origin())).dump(), text);
  const PlanFile read = plan_in(Json::parse(text));
  EXPECT_EQ(to_json(read.cluster).dump(), to_json(sample_cluster()).dump());
}

TEST(PlanFile, OpensWithSchemaVersionCommandAndInputs) {
  const Json json = sample_json();
  EXPECT_EQ(json["schema"], "meshwright.plan/1");
  EXPECT_EQ(json["tool_version"], "0.1.0");
  EXPECT_EQ(json["inputs"][0]["sha256"], std::string(64, 'a'));
}

// Such files say less.
TEST(PlanFile, OfAnEarlierVersionIsRead) {
  Json json = without_key(answered_json(), "defaults");
  Json answers = json["answers"];
  for (const char* key : {"robust_pick", "red_flags", "rule_of_thumb", "placement"}) {
    answers = without_key(std::move(answers), key);
  }
  json["answers"] = answers;
  json["capacity"] = {{"rows", Json::array()}};
  const PlanFile read = plan_in(json);
  EXPECT_TRUE(read.answers);
  EXPECT_FALSE(read.capacity);
  for (const char* key : {"search", "pareto", "closest", "statistics", "answers", "notes"}) {
    json = without_key(std::move(json), key);
  }
  EXPECT_FALSE(plan_in(json).answers);
}

TEST(PlanFile, RefusesAnotherKindOfFileByName) {
  EXPECT_THAT(plan_error({{"schema", "meshwright.profile/1"}}),
              testing::AllOf(testing::HasSubstr("plan.json: /schema"),
                             testing::HasSubstr("meshwright.profile/1")));
}

TEST(PlanFile, NamesThePlaceOfAnUnknownRule) {
  Json json = sample_json();
  json["rejections"][0]["rule"] = "memory_capacities";
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/rejections/0/rule"));
}

TEST(PlanFile, RefusesAParetoIndexBeyondTheRanking) {
  Json json = sample_json();
  json["pareto"] = Json::parse("[7]");
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/pareto"));
}

// Volume is nine tenths of an estimate's text, memory and terms most of the rest. Readers compute
// them from the layout.
TEST(PlanFile, OnlyTheFirstLayoutsKeepTheirParts) {
  planner::Plan plan = sample_plan();
  plan.ranked.resize(12, plan.ranked.front());
  const Json json = written(plan_file_of(plan, sample_origin()));
  EXPECT_TRUE(json["ranked"][0].contains("volume"));
  EXPECT_FALSE(json["ranked"][1].contains("volume"));
  EXPECT_TRUE(json["ranked"][9].contains("memory") && json["ranked"][9].contains("terms"));
  EXPECT_FALSE(json["ranked"][10].contains("memory") || json["ranked"][10].contains("terms"));
  EXPECT_EQ(json["ranked"][11]["peak_memory_bytes"], plan.ranked[11].peak_memory().value());
  EXPECT_EQ(plan_in(json).layouts().size(), 12U);
}

TEST(PlanFile, RefusesUnknownKeys) {
  Json json = sample_json();
  json["rankd"] = 1;
  EXPECT_THAT(plan_error(json), testing::HasSubstr("rankd"));
}

}  // namespace
}  // namespace meshwright::reports
