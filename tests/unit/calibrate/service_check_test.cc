// SPDX-License-Identifier: Apache-2.0
#include "calibrate/service_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/service_reference.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"
#include "tests/unit/calibrate/one_core_cluster.h"
#include "tests/unit/calibrate/two_layers.h"

namespace meshwright::calibrate {
namespace {

Model named_two() {
  Model model = two_layers();
  model.name = "two";
  model.max_position_embeddings = 512;
  return model;
}

Engine plain_engine() {
  Engine engine;
  engine.custom_all_reduce = engine.prefix_caching = false;
  engine.host = {};
  return engine;
}

ServingCluster one_core() {
  ServingCluster cluster{cluster_of_one_core(), {}};
  cluster.inference.host_step = HostStepRate{microseconds(5)};
  return cluster;
}

// Of 1, 4, 8 and 16 sequences the prompts' step and one that decodes.
TEST(ServiceCheck, TimesStepsOfPromptsAndDecodes) {
  const auto service = service_alone(named_two(), plain_engine(), 1, 1);
  ASSERT_TRUE(service.has_value());
  IdleCompute compute;
  Alone world;
  ServiceCheck check(*service, compute, world);
  while (!check.has_enough()) check.run();
  const std::vector<MeasuredPoint> points = check.points();
  ASSERT_EQ(points.size(), 8U);
  EXPECT_EQ(points[2].label(), "served_step of 2 layers of two, tp1 pp1: 4 prompts of 48 tokens");
  EXPECT_EQ(points[3].label(),
            "served_step of 2 layers of two, tp1 pp1: 4 decodes behind 84 tokens");
  for (const MeasuredPoint& point : points) {
    EXPECT_EQ(point.measurement.summary.count, 5) << point.label();
    EXPECT_GT(point.time().value(), 0.0) << point.label();
  }
  EXPECT_EQ(check.last_times().size(), points.size());
}

// Each step is measured as 1.2 of what its parts are predicted to take.
TEST(ServiceCheck, SaysHowMuchAStepTakesBesideItsParts) {
  const auto service = service_alone(named_two(), plain_engine(), 1, 1);
  ASSERT_TRUE(service.has_value());
  std::vector<MeasuredPoint> points = served_steps(*service);
  EXPECT_EQ(remainder_words(*service, points), "");
  predict_parts(*service, one_core(), points);
  for (MeasuredPoint& point : points) {
    const Seconds parts = point.as<timed::ServedStep>()->shape.parts;
    EXPECT_GT(parts.value(), 0.0);
    point.measurement.summary.median = parts * 1.2;
  }
  EXPECT_THAT(remainder_words(*service, points),
              testing::StartsWith("steps of two served, tp1 pp1, beside the sum of their parts: 1 "
                                  "prompts +20 %, 1 decodes +20 %, 4 prompts +20 %"));
}

// Prompts of several stages wait for each other's.
TEST(ServiceCheck, OfStagesStepsThatDecodeCount) {
  const auto service = service_alone(named_two(), plain_engine(), 1, 2);
  ASSERT_TRUE(service.has_value());
  for (const MeasuredPoint& step : served_steps(*service)) {
    EXPECT_FALSE(step.as<timed::ServedStep>()->shape.prompts);
  }
}

// 70 G parameters would take minutes; three stages have no two layers.
TEST(ServiceCheck, AServiceThatIsTooLargeIsLeftOut) {
  Model large = named_two();
  large.hidden_size = 8192;
  large.ffn_hidden_size = 32768;
  large.num_attention_heads = large.num_query_groups = 64;
  large.kv_channels = 128;
  large.num_layers = 80;
  EXPECT_FALSE(service_alone(large, plain_engine(), 1, 1).has_value());
  EXPECT_FALSE(service_alone(named_two(), plain_engine(), 1, 3).has_value());
}

// The profile says a million times of what a run takes, of decodes twice as much. It has no steps
// on two tensor ranks, so those on one rank count. Without a step of the model nothing is said.
TEST(ServiceReference, IsTheTimeNowOverTheProfiles) {
  IdleCompute compute;
  Alone world;
  EXPECT_EQ(start_service_reference({}, named_two(), plain_engine(), 1, 1, compute, world),
            nullptr);
  const auto service = service_alone(named_two(), plain_engine(), 1, 1);
  ASSERT_TRUE(service.has_value());
  ServiceCheck check(*service, compute, world);
  while (!check.has_enough()) check.run();
  std::vector<MeasuredPoint> points = check.points();
  for (MeasuredPoint& point : points) {
    const bool prompts = point.as<timed::ServedStep>()->shape.prompts;
    point.measurement.summary.median = point.time() * (prompts ? 1e6 : 2e6);
  }
  const auto reference =
      start_service_reference(points, named_two(), plain_engine(), 2, 1, compute, world);
  ASSERT_NE(reference, nullptr);
  const HostTimes host = reference->times();
  for (const double ratio : {host.all, host.of_kind.decode, host.of_kind.prompt}) {
    EXPECT_GT(ratio, 0.0);
    EXPECT_LT(ratio, 1e-3);
  }
}

}  // namespace
}  // namespace meshwright::calibrate
