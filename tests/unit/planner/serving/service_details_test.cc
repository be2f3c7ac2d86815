// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/service_details.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {
namespace {

using test::shipped_cluster;
using test::shipped_engine;
using test::shipped_model;

// Llama-3 8B in 16 bits on H100; 100 requests a simulation.
ServingQuestion small_service(double rate) {
  ServingQuestion q;
  q.scenario = {
      shipped_model("llama-3-8b"), shipped_cluster("h100-512"), shipped_engine("vllm-0.24"), {}};
  q.scenario.options.weights = usual_scheme(WeightFormat::bf16, q.scenario.model);
  q.cluster_name = "h100-512";
  q.load.kind = LoadKind::open_loop;
  q.load.request_rate = rate;
  q.load.num_requests = 100;
  q.load.lengths = {LengthKind::fixed, 1000, 200, 1.0, {}};
  q.limits = {seconds(2), milliseconds(40), {}};
  q.space = serving_space(q.scenario.model, q.scenario.cluster);
  q.simulated = 1;
  q.kept = 3;
  return q;
}

ServiceDetails details_of(const ServingQuestion& q) {
  const ServingPlan plan = serving_plan(q);
  EXPECT_FALSE(plan.choices.empty());
  return plan.choices.empty() ? ServiceDetails{} : service_details(q, plan.choices.front());
}

// 1 s at the smallest load, twice that is 2 s: half of the way from 1.5 s at 2 to 2.5 s at 3.
TEST(Knee, IsWhereTheLatencyIsTwiceThatOfTheSmallestLoad) {
  const std::vector<LoadLatency> points{{1, seconds(1)}, {2, seconds(1.5)}, {3, seconds(2.5)}};
  ASSERT_TRUE(knee_of(points).has_value());
  EXPECT_NEAR(knee_of(points).value_or(0), 2.5, 1e-12);
}

TEST(Knee, IsNoneWhereTheLatencyStaysBelow) {
  EXPECT_FALSE(knee_of({}).has_value());
  EXPECT_FALSE(knee_of({{1, seconds(1)}}).has_value());
  EXPECT_FALSE(knee_of({{1, seconds(1)}, {2, seconds(1.9)}}).has_value());
}

TEST(LatencyRange, IsLogNormal) {
  const LatencyRange range = latency_range(seconds(2), 0.1);
  EXPECT_NEAR(range.low.value(), 2.0 * std::exp(-0.1645), 1e-12);
  EXPECT_NEAR(range.high.value(), 2.0 * std::exp(0.1645), 1e-12);
}

// Eight shares of 100 requests a second, and the 60 that are asked.
TEST(LoadsAround, AreSharesOfTheLargestRateWithTheAskedOne) {
  ServingLoad asked;
  asked.kind = LoadKind::open_loop;
  asked.request_rate = 60;
  const std::vector<ServingLoad> loads = loads_around(asked, 100);
  ASSERT_EQ(loads.size(), kLoadShares.size() + 1);
  EXPECT_NEAR(loads.front().request_rate, 10, 1e-12);
  EXPECT_NEAR(loads.back().request_rate, 97, 1e-12);
  EXPECT_EQ(std::count(loads.begin(), loads.end(), asked), 1);
  for (std::size_t i = 1; i < loads.size(); ++i) {
    EXPECT_LT(loads[i - 1].request_rate, loads[i].request_rate);
  }
}

// 4 users: 0.5 rounds to 1 (away from zero), 1, 2, 3, the 4, 6, 8, 12 and 16.
TEST(LoadsAround, OfAClosedLoopAreUsers) {
  ServingLoad asked;
  asked.concurrency = 4;
  std::vector<double> users;
  for (const ServingLoad& load : loads_around(asked, 100)) users.push_back(load.concurrency);
  EXPECT_EQ(users, (std::vector<double>{1, 2, 3, 4, 6, 8, 12, 16}));
}

TEST(OneReplicaFewer, TakesTheSmallerLossOfGpus) {
  ReplicaOptions one, four;
  four.layout.tensor_parallel_size = 4;
  const Deployment pools{{four, 3}, ServingPool{one, 2}};
  const auto fewer = one_replica_fewer(pools);
  ASSERT_TRUE(fewer.has_value());
  EXPECT_EQ(num_gpus(*fewer), num_gpus(pools) - 1);
  EXPECT_FALSE(one_replica_fewer({{four, 1}, {}}).has_value());
  EXPECT_FALSE(one_replica_fewer({{four, 1}, ServingPool{one, 1}}).has_value());
}

// 8 GPUs of 1 kW, all busy, PUE 1.2: 9.6 kW. 2 requests a second of 1,000 + 500 tokens, a quarter
// of the time prompts: input 9.6 * 0.25 / (3,600 * 2,000) * 10^6 = 0.333 kWh, output 9.6 * 0.75 /
// (3,600 * 1,000) * 10^6 = 2 kWh a million.
TEST(SplitEnergy, GivesPromptsTheirShareOfTheTime) {
  const ServedTokens served{8, 2.0, 1000, 500, 0.25, 0.0};
  const ServingEnergy energy = split_energy(served, stated(1.0), {}, 1.0);
  EXPECT_NEAR(energy.kilowatts.value, 9.6, 1e-9);
  EXPECT_NEAR(energy.million_input.value, 9.6 * 0.25 / 3.6 / 2.0, 1e-9);
  EXPECT_NEAR(energy.million_output.value, 9.6 * 0.75 / 3.6 / 1.0, 1e-9);
  // Both parts together are all of it.
  EXPECT_NEAR(energy.million_input.value * 1000 + energy.million_output.value * 500,
              energy.million_total.value * 1500, 1e-9);
  // Without prompts it is what serving_energy gives.
  const ServedTokens answers{8, 2.0, 1000, 500, 0.0, 0.0};
  EXPECT_NEAR(split_energy(answers, stated(1.0), {}, 1.0).million_output.value,
              serving_energy(answers, stated(1.0), {}, 1.0).value, 1e-9);
}

TEST(ServiceDetails, SayHowLatencyGrowsWithTheLoad) {
  ServingQuestion q = small_service(40);
  q.percentile = 90;
  const ServiceDetails details = details_of(q);
  ASSERT_GT(details.loads.size(), 5U);
  const auto asked = [](const ServingLoadPoint& point) { return point.asked; };
  EXPECT_EQ(std::count_if(details.loads.begin(), details.loads.end(), asked), 1);
  for (const ServingLoadPoint& point : details.loads) {
    EXPECT_LE(point.tpot.p50, point.tpot.p99);
    ASSERT_TRUE(point.ttft_at && point.tpot_at);
    EXPECT_EQ(*point.tpot_at, point.tpot.p90);
    EXPECT_LE(point.busy_share, 1.0);
  }
  EXPECT_GT(details.loads.back().tpot.mean, details.loads.front().tpot.mean);
  EXPECT_LT(details.loads.back().request_rate, details.largest_rate);
  EXPECT_LT(details.ttft.low, details.ttft.value);
  EXPECT_GT(details.tpot.high, details.tpot.value);
}

TEST(ServiceDetails, SharesOfAPoolAreItsWholeTime) {
  for (const bool pools : {false, true}) {
    ServingQuestion q = small_service(40);
    q.aggregated = !pools;
    q.disaggregated = pools;
    const ServiceDetails details = details_of(q);
    ASSERT_EQ(details.pools.size(), pools ? 2U : 1U);
    for (const ServicePoolDetails& pool : details.pools) {
      EXPECT_NEAR(pool.prompt_share + pool.decode_share + pool.idle_share, 1.0, 1e-9);
      for (const double share : {pool.prompt_share, pool.decode_share, pool.idle_share}) {
        EXPECT_GE(share, 0.0);
        EXPECT_LT(share, 1.0);
      }
      EXPECT_GT(pool.memory.kv_cache.value(), 0.0);
      EXPECT_GE(pool.admitted, pool.running);
      ASSERT_FALSE(pool.steps.empty());
      for (const ServingStepParts& step : pool.steps) EXPECT_FALSE(step.parts.empty());
    }
    if (pools) {
      EXPECT_EQ(details.pools.front().pool, ServicePool::prefill);
      EXPECT_EQ(details.pools.front().decode_share, 0.0);
      EXPECT_EQ(details.pools.back().prompt_share, 0.0);
    }
  }
}

// Eight replicas' worth of load on one replica less needs a longer step, or never ends.
TEST(ServiceDetails, SayWhatOneReplicaFewerWouldDo) {
  const ServingQuestion q = small_service(200);
  const ServingPlan plan = serving_plan(q);
  ASSERT_FALSE(plan.choices.empty());
  const ServingChoice& best = plan.choices.front();
  ASSERT_GT(best.deployment.pool.replicas, 1);
  const ServiceDetails details = service_details(q, best);
  ASSERT_TRUE(details.smaller.has_value());
  const SmallerDeployment& smaller = *details.smaller;
  EXPECT_LT(smaller.gpus, best.gpus);
  EXPECT_LT(smaller.largest_rate, details.largest_rate);
  EXPECT_EQ(smaller.tpot.has_value(), smaller.e2e.has_value());
  if (smaller.tpot) {
    EXPECT_GT(*smaller.tpot, limited_times(best).tpot);
  } else {
    EXPECT_GT(q.load.request_rate, smaller.largest_rate);
  }
}

TEST(StepParts, AreTheTermsThatTakeTime) {
  const ServingQuestion q = small_service(40);
  const ServingReplica replica =
      serving_replica(q.scenario.model, q.scenario.cluster, q.scenario.engine,
                      with_defaults(q.scenario.options, q.scenario.engine,
                                    only_device(q.scenario.cluster), q.scenario.model));
  const EngineStep step = decode_step(16, 1100);
  const ServingStepParts parts = step_parts(replica.cost, ServedStep::decode, step);
  const StepTime time = step_time(replica.cost, step);
  EXPECT_EQ(parts.time.value, time.total);
  EXPECT_NEAR(parts.tokens, 1100, 1e-9);
  for (const ServingStepPart& part : parts.parts) {
    EXPECT_GT(part.time.value(), 0.0);
    EXPECT_EQ(part.time, time[part.term]);
    EXPECT_NE(part.term, StepTerm::prefill_attention);
  }
}

bool has_change(const std::vector<ServingWhatIf>& answers, const std::string& name) {
  return std::any_of(answers.begin(), answers.end(),
                     [&](const ServingWhatIf& one) { return one.name == name; });
}

// The first row is the plan's own answer, and the others ask for the same percentile.
TEST(ServingWhatIfs, AskTheQuestionOfThePlan) {
  ServingQuestion q = small_service(200);
  q.percentile = 90;
  const ServingPlan plan = serving_plan(q);
  ASSERT_FALSE(plan.choices.empty());
  const ServingChoice& best = plan.choices.front();
  ASSERT_TRUE(best.meets && best.simulated_ttft && best.simulated_tpot);
  const std::vector<ServingWhatIf> answers = serving_what_ifs(q, plan);
  ASSERT_GT(answers.size(), 5U);
  EXPECT_EQ(answers.front().name, "as asked");
  EXPECT_EQ(answers.front().gpus, best.gpus);
  EXPECT_EQ(answers.front().deployment, short_name(best.deployment));
  EXPECT_EQ(answers.front().ttft, best.simulated_ttft);
  EXPECT_EQ(answers.front().tpot, best.simulated_tpot);
  // Half the rate, asked as a plan of its own.
  ServingQuestion half = q;
  half.load.request_rate /= 2.0;
  const ServingPlan alone = serving_plan(half);
  const auto row = std::find_if(answers.begin(), answers.end(),
                                [](const auto& one) { return one.name == "half the rate"; });
  ASSERT_NE(row, answers.end());
  EXPECT_EQ(row->gpus, alone.choices.front().gpus);
}

TEST(ServingWhatIfs, ChangeTheEngineFormatsAndContext) {
  const ServingQuestion q = small_service(40);
  const std::vector<ServingWhatIf> answers =
      serving_what_ifs(q, serving_plan(q), {shipped_engine("vllm-0.19")});
  for (const char* name :
       {"as asked", "engine vllm-0.19", "fp8 cache", "fp8 weights", "prompts twice as long",
        "half of each prompt cached", "half the rate"}) {
    EXPECT_TRUE(has_change(answers, name)) << name;
  }
  for (const ServingWhatIf& one : answers) EXPECT_EQ(one.gpus > 0, one.tpot.has_value());
}

TEST(ServingWhatIfs, LeaveOutWhatChangesNothing) {
  ServingQuestion q = small_service(40);
  q.scenario.options.kv_cache = KvCacheFormat::fp8;
  q.load.prefix_hit_rate = 0.5;
  q.limits = {};
  // Prompts of 5,000 tokens cannot double within 8,192 positions.
  q.load.lengths.input = 5000;
  q.scenario.model.max_position_embeddings = 8192;
  const std::vector<ServingWhatIf> answers = serving_what_ifs(q, serving_plan(q));
  for (const char* name : {"fp8 cache", "half of each prompt cached", "limits twice as long",
                           "prompts twice as long"}) {
    EXPECT_FALSE(has_change(answers, name)) << name;
  }
  EXPECT_TRUE(has_change(answers, "no prompt cached"));
}

}  // namespace
}  // namespace meshwright::planner
