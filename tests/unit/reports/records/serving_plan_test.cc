// SPDX-License-Identifier: Apache-2.0
// The record of a service plan obeys its schema and reads back; its sentences have its numbers.
#include "reports/records/serving_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/reports/served_fixture.h"
#include "tests/unit/schema_check.h"

namespace meshwright::reports {
namespace {

using testing::HasSubstr;

Json written(const ServingPlanFile& file) {
  return Json::parse(serving_plan_record().write(file).dump());
}

TEST(ServingPlanRecord, ObeysItsSchema) {
  const Json json = written(sample_service());
  EXPECT_EQ(test::complaint_of(serving_plan_record().schema("serve_plan"), json), "");
  for (const char* key : {"verdict", "why_not_fewer", "how_sure", "prices", "details", "launch"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_FALSE(json["details"]["loads"].empty());
  EXPECT_GT(json["details"]["pools"][0]["memory"]["kv_cache_bytes"].get<double>(), 0.0);
}

TEST(ServingPlanRecord, ReadsBackWhatItWrote) {
  const Json json = written(sample_service());
  EXPECT_EQ(written(serving_plan_from_json(json, "plan.json")), json);
}

TEST(ServingPlanRecord, HoldsItsTrialsAndReadsThemBack) {
  const Json json = written(served_service());
  EXPECT_EQ(test::complaint_of(serving_plan_record().schema("serve_plan"), json), "");
  EXPECT_EQ(json["validation"]["services"].size(), 2U);
  EXPECT_EQ(json["validation"]["services"][0]["host_time_ratio"], 1.5);
  EXPECT_EQ(json["validation"]["caution"], "");
  const ServingPlanFile again = serving_plan_from_json(json, "plan.json");
  EXPECT_EQ(written(again), json);
  ASSERT_TRUE(again.validation.has_value());
  const planner::ServingValidation& validation = again.validation->validation;
  EXPECT_EQ(validation.services[1].name, "1 x tp2");
  EXPECT_EQ(validation.services[1].observation.ranks, 2);
  EXPECT_EQ(validation.services[0].observation.device, "cpu");
  EXPECT_EQ(validation.services[0].observation.not_run,
            std::vector<std::string>{"bf16 (fp32 was run)"});
  EXPECT_EQ(validation.skipped, std::vector<std::string>{"tp1: no room"});
  EXPECT_FALSE(written(sample_service()).contains("validation"));
}

// What validate writes has the same fields, after its origin.
TEST(ServingValidationRecord, IsThatOfAPlanWithItsOrigin) {
  const ServingPlanFile file = served_service();
  const Json alone = Json::parse(serving_validation_record()
                                     .write({{"1.0", "meshwright validate", {}}, *file.validation})
                                     .dump());
  EXPECT_EQ(test::complaint_of(serving_validation_record().schema("serve_validation"), alone), "");
  const Json plan = written(file);
  for (const auto& [key, value] : plan["validation"].items()) EXPECT_EQ(alone.at(key), value);
}

// A plan of an earlier version has none of the parts that a page added.
TEST(ServingPlanRecord, ReadsAPlanWithoutDetails) {
  Json json = written(sample_service());
  for (const char* key : {"verdict", "why_not_fewer", "how_sure", "prices", "details", "launch"}) {
    json.erase(key);
  }
  const ServingPlanFile file = serving_plan_from_json(json, "plan.json");
  EXPECT_FALSE(file.details.has_value());
  EXPECT_FALSE(file.prices.has_value());
  EXPECT_TRUE(file.launch.empty());
}

void expect_refusal(const Json& json, const std::string& words) {
  try {
    serving_plan_from_json(json, "plan.json");
    ADD_FAILURE() << "was read; expected " << words;
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr(words));
  }
}

TEST(ServingPlanRecord, RefusesWhatNoPlanHas) {
  Json json = written(sample_service());
  json["choices"][0]["deployment"]["pool"]["options"]["layout"]["tensor_parallel_size"] = 100000;
  json["choices"][0]["deployment"]["pool"]["options"]["layout"]["data_parallel_size"] = 100000;
  expect_refusal(json, "plan.json: /choices/0/deployment: has ");
  json = written(sample_service());
  json["load"]["lengths"] = "list";
  json["load"].erase("length_list");
  expect_refusal(json, "plan.json: /load/length_list: is empty");
  json = written(sample_service());
  json.erase("scenario");
  expect_refusal(json, "/scenario");
  json = written(sample_service());
  json["details"]["pools"][0]["idle_share"] = 1.5;
  expect_refusal(json, "/details/pools/0/idle_share");
}

TEST(ServiceSentences, SayGpusLatencyAndPrice) {
  const ServingPlanFile& file = sample_service();
  const planner::ServingChoice& best = file.plan.choices.front();
  ASSERT_TRUE(best.meets);
  EXPECT_THAT(file.verdict, HasSubstr(planner::short_name(best.deployment)));
  EXPECT_THAT(file.verdict, HasSubstr("100 requests/s of 1,000 + 200 tokens"));
  EXPECT_THAT(file.verdict, HasSubstr("TPOT " + latency_range_text(file.details->tpot)));
  EXPECT_THAT(file.verdict, HasSubstr("at p90"));
  EXPECT_THAT(file.verdict, HasSubstr("EUR per million tokens"));
  EXPECT_THAT(file.how_sure, HasSubstr("The least certain part of a decode step is"));
  EXPECT_FALSE(file.why_not_fewer.empty());
}

TEST(ServiceSentences, SayWhyOneReplicaFewerIsTooFew) {
  ServingPlanFile file = sample_service();
  planner::SmallerDeployment smaller{"7 x tp1", 7, 99.0, 100.0 / 99.0, {}, {}, {}};
  file.details->smaller = smaller;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer,
            "7 x tp1 on 7 GPUs serve at most 99 requests/s. The queue would grow without end.");
  smaller.ttft = seconds(3);
  smaller.tpot = milliseconds(30);
  file.details->smaller = smaller;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer, "With 7 x tp1 on 7 GPUs, TTFT at p90 is 3 s; the limit is 2 s.");
  smaller.ttft = seconds(1);
  smaller.largest_rate = 105;
  smaller.utilization = 0.952;
  file.details->smaller = smaller;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer,
            "7 x tp1 on 7 GPUs would run at 95.2 % of its largest rate, 105 requests/s. Plans use "
            "at most 90.0 %.");
  file.limits.e2e = seconds(5);
  file.details->smaller->e2e = seconds(6);
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer, "With 7 x tp1 on 7 GPUs, E2E on average is 6 s; the limit is 5 s.");
  file.limits.e2e.reset();
  file.details->smaller->utilization = 0.8;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer, "");  // the search would have taken it
  file.details->asked_gpus = 8;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer, "The question states 8 GPUs.");
  // Fewer than what misses the limits is no question.
  file.plan.choices.front().meets = false;
  add_service_sentences(file);
  EXPECT_EQ(file.why_not_fewer, "");
}

TEST(ServiceSentences, OfOneGpuAreSingular) {
  ServingPlanFile file = sample_service();
  planner::ServingChoice& best = file.plan.choices.front();
  best.deployment.pool.replicas = 1;
  best.gpus = best.gpus_low = best.gpus_high = 1;
  file.details->smaller.reset();
  file.load.kind = LoadKind::closed_loop;
  file.load.concurrency = 1;
  add_service_sentences(file);
  EXPECT_THAT(file.verdict, HasSubstr("1 GPU as 1 x "));
  EXPECT_THAT(file.verdict, HasSubstr(" serves 1 user with"));
  EXPECT_EQ(file.why_not_fewer, "One GPU is the smallest deployment.");
  EXPECT_THAT(file.how_sure,
              HasSubstr("At both ends of the steps' 90 % interval the load needs 1 GPU."));
}

TEST(ServiceSentences, SayWhichMeanOfRequestsIsMissed) {
  ServingPlanFile file = sample_service();
  planner::ServingChoice& best = file.plan.choices.front();
  ASSERT_TRUE(best.simulated && best.simulated_ttft);
  best.meets = false;
  best.simulated->e2e.mean = seconds(6);
  file.limits.e2e = seconds(5);
  add_service_sentences(file);
  EXPECT_THAT(file.verdict, HasSubstr("E2E on average is 6 s; the limit is 5 s."));
}

TEST(ServiceSentences, SayThatTheLoadNeedsMoreGpusThanAreAllowed) {
  ServingPlanFile file = sample_service();
  file.plan.choices.clear();
  file.details.reset();
  file.plan.nearest = planner::NearestDeployment{{}, "1 x tp1", seconds(0.1), milliseconds(9), 0.5};
  add_service_sentences(file);
  EXPECT_EQ(file.verdict,
            "No deployment meets the limits. 1 x tp1 meets them for one request at a time. This "
            "load needs more GPUs than are allowed.");
}

TEST(ServiceSentences, SayHowFarTheNearestIs) {
  planner::ServingQuestion q = service_question();
  q.limits.tpot = milliseconds(0.5);
  const ServingPlanFile file = service_file_of(q);
  EXPECT_THAT(file.verdict, HasSubstr("No deployment meets the limits. The nearest is "));
  EXPECT_THAT(file.verdict, HasSubstr("times a limit."));
}

}  // namespace
}  // namespace meshwright::reports
