// SPDX-License-Identifier: Apache-2.0
#include "reports/records/plan_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/records/plan_file.h"
#include "sim/base/error.h"
#include "sim/record/without_key.h"
#include "tests/unit/error_of.h"
#include "tests/unit/reports/plan_fixture.h"

namespace meshwright::reports {
namespace {

Json plan_json(const planner::Plan& plan) {
  return Json::parse(plan_file_record().write(plan_file_of(plan, sample_origin())).dump());
}

TEST(PlanDiff, SaysWhichInputChangedAndWhereLayoutsWent) {
  planner::Plan after = sample_plan();
  after.job.global_batch_size = 128;
  after.ranked.resize(1);
  const planner::PlanDiff diff =
      planner::diff(plan_side_from_json(plan_json(sample_plan()), "a.json"),
                    plan_side_from_json(plan_json(after), "b.json"));
  const Json json =
      diff_file_record().write(diff_file_of(diff, {"winner: another"}, sample_origin()));
  EXPECT_EQ(json["schema"], "meshwright.diff/1");
  EXPECT_EQ(json["winner_changes"], false);
  ASSERT_EQ(json["inputs"].size(), 1U) << json["inputs"];
  EXPECT_EQ(json["inputs"][0]["pointer"], "/job/global_batch_size");
  ASSERT_EQ(json["layouts"].size(), 2U);
  EXPECT_EQ(json["layouts"][0]["after"]["rank"], 1);
  EXPECT_EQ(json["layouts"][1]["before"]["rank"], 2);
  EXPECT_TRUE(json["layouts"][1]["after"].is_null());
  const DiffFile read = diff_file_record().read(Json::parse(json.dump()), "diff.json");
  EXPECT_EQ(diff_file_record().write(read).dump(), json.dump());
}

TEST(PlanDiff, NeedsTheNumbersThatAPlanWasMadeWith) {
  Json plan = plan_json(sample_plan());
  plan["ranked"][1] = without_key(plan["ranked"][1], "peak_memory_bytes");
  EXPECT_NO_THROW(plan_file_record().read(plan, "plan.json"));
  EXPECT_THAT(error_of([&] { plan_side_from_json(plan, "plan.json"); }),
              testing::HasSubstr("/ranked/1/peak_memory_bytes"));
}

}  // namespace
}  // namespace meshwright::reports
