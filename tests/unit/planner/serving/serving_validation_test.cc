// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_validation.h"

#include <gtest/gtest.h>

#include "sim/json/serving_records.h"
#include "sim/serving/scheduler.h"
#include "tests/unit/planner/serving/served_fixture.h"

namespace meshwright::planner {
namespace {

// Measured 1.25 times the prediction: predicted / measured - 1 is -0.2 for every time.
TEST(ServingValidation, ErrorsAreOfPredictedOverMeasured) {
  const ServingScenario s = llama_on_h100();
  const ServingLoad load = eight_users();
  ServingObservation unlike = as_predicted(s, load, 1.25);
  unlike.steps[1].bytes_as_said = false;
  ServingObservation failed;
  failed.failure = "no room";
  const ServingValidation found =
      validate_serving(s, load, {as_predicted(s, load, 1.0), unlike, failed});
  ASSERT_EQ(found.services.size(), 2U);
  EXPECT_EQ(found.skipped, std::vector<std::string>{"tp1: no room"});
  EXPECT_EQ(found.services[0].name, "1 x tp1");
  EXPECT_NEAR(found.services[0].step_error, 0.0, 1e-9);
  EXPECT_NEAR(found.services[0].tpot_error, 0.0, 1e-9);
  EXPECT_TRUE(found.services[0].same_bytes());
  const ServingComparison& slow = found.services[1];
  EXPECT_NEAR(slow.step_error, 0.2, 1e-9);
  EXPECT_NEAR(slow.tpot_error, 0.2, 1e-9);
  EXPECT_NEAR(slow.ttft_error, 0.2, 1e-9);
  EXPECT_NEAR(slow.throughput_error, 0.25, 1e-9);
  EXPECT_EQ(slow.unlike_steps, 1);
  EXPECT_EQ(slow.decode.count, 1);
  EXPECT_EQ(slow.mixed.count, 1);
  // Both are predicted alike, and the first is the faster one: nothing is lost.
  EXPECT_DOUBLE_EQ(found.regret, 0.0);
}

// The host took 1.25 times what its profile says, and so did the service: nothing is left.
TEST(ServingValidation, ErrorsAreCorrectedForTheHostsSpeed) {
  const ServingScenario s = llama_on_h100();
  const ServingLoad load = eight_users();
  ServingObservation slow = as_predicted(s, load, 1.25);
  EXPECT_FALSE(validate_serving(s, load, {slow}).at_host_speed.has_value());
  slow.host_time_ratios = HostTimeRatios{1.25, 1.25};
  const ServingValidation found = validate_serving(s, load, {slow});
  EXPECT_NEAR(found.median_tpot_error, 0.2, 1e-9);
  ASSERT_TRUE(found.at_host_speed.has_value());
  EXPECT_NEAR(found.at_host_speed->median_step_error, 0.0, 1e-9);
  EXPECT_NEAR(found.median_decode_error, 0.2, 1e-9);
  EXPECT_NEAR(found.at_host_speed->median_decode_error, 0.0, 1e-9);
  EXPECT_NEAR(found.at_host_speed->median_tpot_error, 0.0, 1e-9);
  EXPECT_NEAR(found.at_host_speed->median_ttft_error, 0.0, 1e-9);
  const ServingComparison& one = found.services[0];
  EXPECT_NEAR(one.at_host_speed->tokens_per_second, one.predicted.output_tokens_per_second, 1e-6);
}

// The trial ran 16 requests; the load has 8.
TEST(ServingValidation, TrialsOfMoreRequestsThanTheLoadAreSkipped) {
  const ServingScenario s = llama_on_h100();
  ServingLoad load = eight_users();
  const ServingObservation o = as_predicted(s, load, 1.0);
  load.num_requests = 8;
  const ServingValidation found = validate_serving(s, load, {o});
  EXPECT_TRUE(found.services.empty());
  EXPECT_EQ(found.skipped,
            std::vector<std::string>{"tp1: names requests that the plan's load does not have"});
}

TEST(ServingObservation, IsReadAsItIsWritten) {
  ServingObservation o = as_predicted(llama_on_h100(), eight_users(), 1.0);
  ServedTransfer moved;
  moved.counted.name = "attention output all-reduce";
  moved.counted.group_size = 2;
  moved.counted.times_per_step = 64;
  moved.counted.payload = bytes(8192);
  o.transfers.push_back(moved);
  o.host_time_ratio = 1.1;
  o.host_time_ratios = HostTimeRatios{1.2, 0.9};
  const Json json = serving_observation_record().write(o);
  const ServingObservation again = serving_observation_record().read(json, "trials");
  EXPECT_EQ(serving_observation_record().write(again), json);
  EXPECT_EQ(again.host_time_ratio, 1.1);
  EXPECT_EQ(again.host_time_ratios, o.host_time_ratios);
  EXPECT_EQ(again.run.requests.size(), o.run.requests.size());
  EXPECT_EQ(again.steps[1].step.prefill_tokens, 400);
  EXPECT_EQ(again.transfers[0].counted.payload, bytes(8192));
}

// As if both pools had taken what is predicted: 16 prompts of 200 tokens move at the same time
// each.
TEST(ServingValidation, PoolsAreComparedWithTheSimulationOfPools) {
  ServingScenario s = llama_on_h100();
  s.cluster.inference.cache_copy = CacheCopyRate{microseconds(100), gigabytes_per_second(1)};
  const ServingLoad load = eight_users();
  ServingObservation o = as_predicted(s, load, 1.0);
  o.prefill = ServedPrefillPool{s.options, 1, 200};
  o.ranks = 2;
  ServingReplica replica =
      serving_replica(s.model, s.cluster, s.engine, o.options, load.acceptance);
  replica.rule.overlapped = false;
  replica.rule.request = replica.rule.input_token = {};
  replica.memory.kv_cache = replica.memory.sequence.full_token * (200.0 * o.options.block_size);
  // 200 tokens of 131,072 bytes at 1 GB/s.
  const Seconds moving = seconds(200 * 131'072 / 1e9);
  o.run = simulate_disaggregated({replica, replica, 1, 1, microseconds(100), moving / 200.0}, load)
              .value();
  for (int i = 0; i < 16; ++i) {
    ObservedHandover one;
    one.request = i;
    one.begin = seconds(i);
    one.end = one.begin + microseconds(100) + moving;
    one.bytes_as_said = i > 0;
    o.handovers.push_back(one);
  }
  const ServingValidation found = validate_serving(s, load, {o});
  ASSERT_EQ(found.services.size(), 1U);
  const ServingComparison& one = found.services[0];
  EXPECT_NEAR(one.step_error, 0.0, 1e-9);
  EXPECT_NEAR(one.ttft_error, 0.0, 1e-9);
  EXPECT_NEAR(one.tpot_error, 0.0, 1e-9);
  EXPECT_EQ(one.handover.count, 16);
  EXPECT_NEAR(one.handover.absolute_error, 0.0, 1e-9);
  EXPECT_EQ(one.unlike_handovers, 1);
  EXPECT_FALSE(one.same_bytes());
  EXPECT_EQ(name_of_run(o), "1 x tp1 + 1 x tp1");
  const Json json = serving_observation_record().write(o);
  const ServingObservation again = serving_observation_record().read(json, "trials");
  EXPECT_EQ(serving_observation_record().write(again), json);
  EXPECT_EQ(again.prefill, o.prefill);
  EXPECT_EQ(again.handovers.size(), 16U);
}

}  // namespace
}  // namespace meshwright::planner
