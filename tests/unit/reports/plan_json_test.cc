// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "answered_plan.h"
#include "reports/answers_json.h"
#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::reports {
namespace {

Json sample_json() {
  planner::SearchOptions search;
  search.top = 3;
  search.memory_headroom = 0.05;
  search.space[&Layout::tensor_parallel_size] = {1, 2, 4};
  search.space[&Layout::sequence_parallel] = {true};
  search.space[&Layout::recompute_granularity] = {RecomputeGranularity::selective};
  search.space[&Layout::schedule] = {PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1};
  return Json::parse(plan_to_json(sample_plan(), sample_origin(), search).dump());
}

TEST(PlanJson, GivesBackWhatItWasMadeFrom) {
  const planner::Plan plan = sample_plan();
  const PlanFile read = plan_from_json(sample_json(), "plan.json");
  EXPECT_EQ(read.model, plan.model);
  EXPECT_EQ(read.job, plan.job);
  EXPECT_EQ(read.cluster.num_gpus(), 16);
  ASSERT_EQ(read.layouts.size(), 2U);
  EXPECT_EQ(read.layouts[0], plan.ranked[0].layout);
  EXPECT_EQ(read.layouts[1], plan.ranked[1].layout);
  EXPECT_EQ(read.pareto, plan.pareto);
  ASSERT_EQ(read.rejections.size(), 1U);
  EXPECT_EQ(read.rejections[0].rule, Rule::memory_capacity);
  EXPECT_EQ(read.rejections[0].count, 12);
  EXPECT_EQ(read.rejections[0].nearest.layout, plan.rejections[0].nearest.layout);
  EXPECT_EQ(read.rejections[0].nearest.violation.needed, gibibytes(96).value());
  EXPECT_EQ(read.rejections[0].sentence, "needs 96 GiB of 80 GiB");
  EXPECT_EQ(read.statistics.fitting, 28);
  EXPECT_EQ(read.notes, plan.notes);
  EXPECT_EQ(read.origin.inputs.size(), 2U);
}

TEST(PlanJson, RemembersWhatTheSearchLookedAt) {
  const PlanFile read = plan_from_json(sample_json(), "plan.json");
  EXPECT_EQ(read.search.top, 3);
  EXPECT_EQ(read.search.memory_headroom, 0.05);
  EXPECT_THAT(read.search.space[&Layout::tensor_parallel_size], testing::ElementsAre(1, 2, 4));
  EXPECT_THAT(read.search.space[&Layout::sequence_parallel], testing::ElementsAre(true));
  EXPECT_THAT(read.search.space[&Layout::recompute_granularity],
              testing::ElementsAre(RecomputeGranularity::selective));
  EXPECT_THAT(read.search.space[&Layout::schedule],
              testing::ElementsAre(PipelineSchedule::one_f_one_b, PipelineSchedule::zb_h1));
}

TEST(PlanJson, GivesBackTheScalingThatWasAskedFor) {
  const AnsweredPlan a = answered_plan();
  Json json = Json::parse(plan_to_json(a.plan, sample_origin(), a.search, a.answers).dump());
  const PlanFile read = plan_from_json(json, "plan.json");
  ASSERT_TRUE(read.scaling);
  EXPECT_EQ(to_json(*read.scaling), to_json(a.answers.scaling));
  json["answers"]["scaling"]["points"][1]["gpus"] = "many";
  try {
    plan_from_json(json, "plan.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("/answers/scaling/points/1/gpus"));
  }
}

TEST(PlanJson, IsTheSameTextEveryTime) {
  const std::string text = plan_to_json(sample_plan(), sample_origin()).dump();
  EXPECT_EQ(plan_to_json(sample_plan(), sample_origin()).dump(), text);
  const PlanFile read = plan_from_json(Json::parse(text), "plan.json");
  EXPECT_EQ(to_json(read.cluster).dump(), to_json(sample_cluster()).dump());
}

TEST(PlanJson, OpensWithSchemaVersionCommandAndInputs) {
  const Json json = plan_to_json(sample_plan(), sample_origin());
  EXPECT_EQ(json["schema"], "meshwright.plan/1");
  EXPECT_EQ(json["tool_version"], "0.1.0");
  EXPECT_EQ(json["inputs"][0]["sha256"], std::string(64, 'a'));
}

std::string plan_error(const Json& json) {
  return error_of([&] { plan_from_json(json, "plan.json"); });
}

TEST(PlanJson, RefusesAnotherKindOfFileByName) {
  EXPECT_THAT(plan_error({{"schema", "meshwright.profile/1"}}),
              testing::AllOf(testing::HasSubstr("plan.json: /schema"),
                             testing::HasSubstr("meshwright.profile/1")));
}

TEST(PlanJson, NamesThePlaceOfAnUnknownRule) {
  Json json = sample_json();
  json["rejections"][0]["rule"] = "memory_capacities";
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/rejections/0/rule"));
}

TEST(PlanJson, RefusesAParetoIndexBeyondTheRanking) {
  Json json = sample_json();
  json["pareto"] = {7};
  EXPECT_THAT(plan_error(json), testing::HasSubstr("/pareto"));
}

// Volume is nine tenths of an estimate's text, memory and terms most of the rest. Readers compute
// them from the layout.
TEST(PlanJson, OnlyTheFirstLayoutsKeepTheirParts) {
  planner::Plan plan = sample_plan();
  plan.ranked.resize(12, plan.ranked.front());
  const Json json = plan_to_json(plan, sample_origin());
  EXPECT_TRUE(json["ranked"][0].contains("volume"));
  EXPECT_FALSE(json["ranked"][1].contains("volume"));
  EXPECT_TRUE(json["ranked"][9].contains("memory") && json["ranked"][9].contains("terms"));
  EXPECT_FALSE(json["ranked"][10].contains("memory") || json["ranked"][10].contains("terms"));
  EXPECT_EQ(json["ranked"][11]["peak_memory_bytes"], plan.ranked[11].peak_memory().value());
  EXPECT_EQ(plan_from_json(Json::parse(json.dump()), "plan.json").layouts.size(), 12U);
}

TEST(PlanJson, RefusesUnknownKeys) {
  Json json = sample_json();
  json["rankd"] = 1;
  EXPECT_THAT(plan_error(json), testing::HasSubstr("rankd"));
}

}  // namespace
}  // namespace meshwright::reports
