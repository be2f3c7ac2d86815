// SPDX-License-Identifier: Apache-2.0
#include "planner/serving/serving_learning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.h"
#include "sim/base/spread.h"
#include "sim/serving/replica_cost.h"
#include "tests/unit/error_of.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {
namespace {

constexpr auto kTpot = place_of(ServingQuantity::tpot_mean);
constexpr auto kTps = place_of(ServingQuantity::output_tps);

std::shared_ptr<const ServingScenario> shared_llama_on_h100() {
  static const auto scenario = [] {
    ServingScenario s{test::shipped_model("llama-3-8b"),
                      test::shipped_cluster("h100-8"),
                      test::shipped_engine("vllm-0.24"),
                      {}};
    s.options = with_defaults(s.options, s.engine, only_device(s.cluster), s.model);
    return std::make_shared<const ServingScenario>(std::move(s));
  }();
  return scenario;
}

// So many users, whose steps took `factor` of the predicted time.
MeasuredService measured(double users, double factor) {
  MeasuredService point;
  point.id = "users " + std::to_string(static_cast<int>(users));
  point.scenario = shared_llama_on_h100();
  point.deployment.pool = {point.scenario->options, 1};
  point.load.concurrency = users;
  point.load.num_requests = static_cast<int>(2 * users);
  point.load.lengths = {LengthKind::fixed, 300, 100, 1.0, {}};
  const PredictedService said = predicted(point, true);
  point.measured[kTpot] = *said.values[kTpot] * factor;
  return point;
}

MeasuredServices set_of(std::vector<MeasuredService> points) {
  MeasuredServices set;
  set.name = "results.csv";
  set.points = std::move(points);
  return set;
}

// Level 0.2, own 0.1: 3 x 0.12 / 0.01 = 36 over 1 / 0.04 + 3 / 0.01 = 325.
TEST(PosteriorFactor, ShrinksByTheCountAndBothSpreads) {
  const std::vector<FactorResidual> three(3, {0.12, 1.0});
  EXPECT_NEAR(posterior_factor(three, 0.2, 0.1), 36.0 / 325.0, 1e-12);
  EXPECT_NEAR(posterior_variance(three, 0.2, 0.1), 1.0 / 325.0, 1e-12);
  // Slope 2: the same residual speaks of half the factor, with four times the weight.
  EXPECT_NEAR(posterior_factor({{0.12, 2.0}}, 0.2, 0.1), 24.0 / 425.0, 1e-12);
  EXPECT_EQ(posterior_factor({}, 0.2, 0.1), 0.0);
}

// Four configurations 25 % above the prediction: n / (n + 0.45 / 0.55) = 4 / 4.818 = 0.830 of
// ln 1.25 is taken. A request's host time does not follow the factor: within one per cent.
TEST(LearnService, TakesTheShareOfTheCount) {
  const ServingLearning found = learn_service(
      set_of({measured(2, 1.25), measured(4, 1.25), measured(8, 1.25), measured(16, 1.25)}));
  EXPECT_EQ(found.configurations, 4);
  EXPECT_NEAR(std::log(found.factor), 0.8302 * std::log(1.25), 0.01);
  EXPECT_LT(found.factor_low, found.factor);
  EXPECT_GT(found.factor_high, 1.25);
  EXPECT_LT(found.spread, found.spread_before);
  ASSERT_EQ(found.evidence.size(), 4U);
  for (const ServingEvidence& one : found.evidence) {
    EXPECT_NEAR(one.measured / one.predicted, 1.25, 1e-9);
    EXPECT_LT(std::abs(std::log(one.corrected / one.measured)), 0.2 * std::log(1.25));
  }
}

// r = 0: the factor stays, and own^2 = 4 s^2 / (4 + n) falls with the count.
TEST(LearnService, OfResultsAsPredictedNarrowsTheInterval) {
  double before = 1.0;
  std::vector<MeasuredService> points;
  for (const double users : {1.0, 2.0, 4.0, 8.0}) {
    points.push_back(measured(users, 1.0));
    const ServingLearning found = learn_service(set_of(points));
    EXPECT_NEAR(found.factor, 1.0, 1e-6);
    EXPECT_LT(found.spread / found.spread_before, before);
    EXPECT_GE(found.spread, found.repeat_spread);
    before = found.spread / found.spread_before;
  }
}

// Five results of one configuration say no more of others than their mean does. Around it they lie
// -2, -1, 0, 1 and 2 %: their deviation is sqrt(10 / 4) %.
TEST(LearnService, CountsRepeatsOnce) {
  const ServingLearning one = learn_service(set_of({measured(4, 1.1)}));
  std::vector<MeasuredService> repeats;
  for (const double off : {-0.02, -0.01, 0.0, 0.01, 0.02}) {
    repeats.push_back(measured(4, 1.1 * std::exp(off)));
  }
  const ServingLearning five = learn_service(set_of(repeats));
  EXPECT_EQ(five.configurations, 1);
  EXPECT_EQ(five.results, 5);
  EXPECT_NEAR(five.factor, one.factor, 1e-9);
  EXPECT_NEAR(five.spread, one.spread, 1e-9);
  EXPECT_NEAR(five.repeat_spread, 0.01 * std::sqrt(2.5), 1e-6);
  EXPECT_EQ(one.repeat_spread, kServingRepeatSpread);
}

TEST(LearnService, ReadsThroughputWhereNoTimeIsTold) {
  MeasuredService point = measured(8, 1.0);
  const PredictedService said = predicted(point, true);
  point.measured = {};
  point.measured[kTps] = *said.values[kTps] / 1.2;
  const ServingLearning found = learn_service(set_of({point}));
  EXPECT_GT(found.factor, 1.05);
  EXPECT_EQ(found.evidence.front().quantity, ServingQuantity::output_tps);
}

TEST(LearnService, LeavesOutWhatTellsNothing) {
  MeasuredService rate = measured(4, 1.0);
  rate.load.kind = LoadKind::open_loop;
  rate.measured = {};
  rate.measured[kTps] = 100.0;
  const ServingLearning found = learn_service(set_of({measured(4, 1.0), rate}));
  EXPECT_EQ(found.configurations, 1);
  ASSERT_EQ(found.left_out.size(), 1U);
  EXPECT_EQ(found.left_out[0].reason, "tells no time of a step");
  EXPECT_NE(
      error_of([&] { learn_service(set_of({rate})); }).find("tells nothing of this engine's steps"),
      std::string::npos);
}

TEST(LearnService, RefusesAFactorOfAnotherService) {
  EXPECT_THAT(error_of([] {
                learn_service(set_of({measured(1, 40.0), measured(2, 40.0), measured(4, 40.0)}));
              }),
              testing::HasSubstr("steps take 18.1 of the predicted time"));
}

// Kernels and host take the factor; the spread of every step takes the ratio, and is never below
// that of repeats.
TEST(WithLearnt, ScalesStepsAndTheirSpread) {
  const ServingScenario& s = *shared_llama_on_h100();
  ServingLearning learning;
  learning.factor = 1.2;
  learning.spread_before = 0.2;
  learning.spread = 0.1;
  learning.repeat_spread = 0.01;
  const auto cost_with = [&](const ServingLearning& l) {
    return replica_cost(s.model, s.cluster, with_learnt(s.engine, l), s.options);
  };
  const ReplicaCost before = replica_cost(s.model, s.cluster, s.engine, s.options);
  const ReplicaCost after = cost_with(learning);
  const EngineStep step = decode_step(16, 1000);
  const StepTime was = step_time(before, step), is = step_time(after, step);
  EXPECT_NEAR(is.total / was.total, 1.2, 1e-9);
  EXPECT_NEAR(step_spread(after, is), 0.5 * step_spread(before, was), 1e-9);
  learning.spread = 0.001;
  const ReplicaCost sure = cost_with(learning);
  EXPECT_EQ(step_spread(sure, step_time(sure, step)), 0.01);
}

}  // namespace
}  // namespace meshwright::planner
