// SPDX-License-Identifier: Apache-2.0
// A small training beside a shipped service on nodes of eight H100: what a row holds, and that the
// smallest cluster is the smallest.
#include "planner/shared_cluster/shared_capacity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/planner/planner_fixture.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright::planner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Twelve hours at a rate and twelve at a third of it.
ServiceOptions day_and_night(double rate) {
  ServiceOptions service;
  service.model = "llama-3-70b";
  service.isl = 4000;
  service.osl = 1000;
  service.ttft_seconds = 2.0;
  service.tpot_seconds = 0.05;
  service.replica_start_seconds = 0.0;
  service.load_curve.requests_per_second.assign(12, rate);
  service.load_curve.requests_per_second.insert(service.load_curve.requests_per_second.end(), 12,
                                                rate / 3.0);
  return service;
}

ServingQuestion service_on(const ServiceOptions& service, int most_gpus) {
  ServingQuestion q;
  q.scenario = {test::shipped_model("llama-3-70b"),
                test::shipped_cluster("h100-512"),
                test::shipped_engine("vllm-0.24"),
                {}};
  q.scenario.options.weights = usual_scheme(WeightFormat::fp8, q.scenario.model);
  q.scenario.options.kv_cache = KvCacheFormat::fp8;
  q.load.lengths = {LengthKind::fixed, service.isl, service.osl, 1.0, {}};
  q.limits = {seconds(*service.ttft_seconds), seconds(*service.tpot_seconds), {}};
  q.space = serving_space(q.scenario.model, q.scenario.cluster);
  q.max_gpus = most_gpus;
  q.kept = 1;
  q.simulated = 0;
  return q;
}

SharedQuestion shared_question(double rate, int gpus) {
  SharedQuestion q;
  q.training.model = small_model();
  q.training.clusters = {{"h100", test::shipped_cluster("h100-512"), small_job()}};
  q.training.gpus = {gpus};
  q.training.global_batch_sizes = {64};
  q.training.train_tokens = 1e12;
  q.training.options.prices = {"mine", "2026-11", "a test", "EUR", true, {{"h100", "", {2, 2, 2}}}};
  q.training.options.failures.spare_nodes = 1;
  q.training.options.limits.max_gpus = 128;
  q.service = day_and_night(rate);
  q.serving = {service_on(q.service, 128)};
  return q;
}

void expect_sums(const SharedRow& row) {
  double sum = 0.0;
  for (const SharedHour& hour : row.hours) {
    EXPECT_EQ(hour.service_gpus + hour.training_gpus + hour.spare_gpus + hour.free_gpus, row.gpus);
    EXPECT_GE(hour.free_gpus, 0);
  }
  sum = row.shares.service + row.shares.training + row.shares.spare + row.shares.free;
  EXPECT_NEAR(sum, 1.0, 1e-12);
}

// A fixed training keeps its count in every hour; all GPUs are paid for its days.
TEST(SharedCapacity, AFixedTrainingUsesWhatIsFreeInEveryHour) {
  const SharedAnswer answer = shared_answer(shared_question(20.0, 64));
  ASSERT_EQ(answer.clusters.size(), 1U);
  ASSERT_TRUE(answer.clusters[0].service.meets()) << answer.clusters[0].service.reason;
  const auto row = std::find_if(answer.rows.begin(), answer.rows.end(),
                                [](const SharedRow& r) { return r.asked; });
  ASSERT_NE(row, answer.rows.end());
  ASSERT_TRUE(row->fits()) << row->reason;
  expect_sums(*row);
  EXPECT_EQ(row->resizes, 0);
  EXPECT_EQ(row->training_gpus, TrainingGpus::fixed);
  EXPECT_NEAR(row->days.p50, row->training.run.days.p50, 1e-9 * row->days.p50);
  ASSERT_TRUE(row->cost);
  EXPECT_NEAR(row->cost->p50 / (64 * 24.0 * 2.0 * row->days.p50), 1.0, 1e-6);
  // GPUs that serve or wait draw power, too; the width is the training's own.
  const auto& of_training = row->training.run.energy_mwh;
  ASSERT_TRUE(row->energy_mwh && of_training);
  EXPECT_GT(row->energy_mwh->p50, of_training->p50);
  EXPECT_NEAR(row->energy_mwh->p90 / row->energy_mwh->p50, of_training->p90 / of_training->p50,
              1e-9);
  const auto& hours = answer.clusters[0].service.hours;
  EXPECT_GT(hours[0].held_replicas, hours[12].held_replicas);
  EXPECT_GT(row->hours[0].service_gpus, row->hours[12].service_gpus);
  EXPECT_EQ(row->hours[0].training_gpus, row->hours[12].training_gpus);
}

// At night an elastic training has more GPUs, and never ends later.
TEST(SharedCapacity, AnElasticTrainingIsNeverSlower) {
  SharedQuestion q = shared_question(20.0, 64);
  const SharedAnswer fixed = shared_answer(q);
  q.service.training_gpus = TrainingGpus::elastic;
  const SharedAnswer elastic = shared_answer(q);
  const auto of_64 = [](const SharedAnswer& answer) {
    return *std::find_if(answer.rows.begin(), answer.rows.end(),
                         [](const SharedRow& r) { return r.gpus == 64; });
  };
  expect_sums(of_64(elastic));
  EXPECT_LE(of_64(elastic).days.p50, of_64(fixed).days.p50 * (1.0 + 1e-9));
}

void expect_smallest(const SharedQuestion& q, const SharedAnswer& answer) {
  ASSERT_TRUE(answer.recommended);
  const SharedRow& smallest = answer.rows[*answer.recommended];
  ASSERT_TRUE(answer.clusters[0].smallest);
  EXPECT_EQ(answer.clusters[0].smallest->hosts_not_tried, 0);
  TrainingCounts counts(q.training, 0);
  const SharedInputs in{q.training, q.service, answer.clusters[0].service, 0};
  const int hosts = smallest.gpus / counts.host_gpus();
  EXPECT_TRUE(shared_row(in, counts, hosts, true).keeps_limits());
  EXPECT_FALSE(shared_row(in, counts, hosts - 1, true).keeps_limits());
}

// One host less than the smallest does not do both, without and with a deadline.
TEST(SharedCapacity, TheSmallestClusterIsTheSmallest) {
  SharedQuestion q = shared_question(20.0, 64);
  const SharedAnswer any = shared_answer(q);
  expect_smallest(q, any);
  ASSERT_TRUE(any.recommended);
  q.training.options.limits.deadline_days = any.rows[*any.recommended].days.p90 / 1.2;
  const SharedAnswer sooner = shared_answer(q);
  expect_smallest(q, sooner);
  ASSERT_TRUE(sooner.recommended);
  EXPECT_GT(sooner.rows[*sooner.recommended].gpus, any.rows[*any.recommended].gpus);
}

// The service is paid for until the training ends: twice its hosts cost less than one.
TEST(SharedCapacity, ABudgetThatTheSmallestBreaksIsSoughtAboveIt) {
  SharedQuestion q = shared_question(20.0, 64);
  const SharedAnswer any = shared_answer(q);
  ASSERT_TRUE(any.recommended);
  const SharedRow& smallest = any.rows[*any.recommended];
  ASSERT_TRUE(smallest.cost);
  q.training.options.limits.budget = 0.9 * smallest.cost->p90;
  const SharedAnswer cheaper = shared_answer(q);
  ASSERT_TRUE(cheaper.recommended);
  const SharedRow& found = cheaper.rows[*cheaper.recommended];
  EXPECT_GT(found.gpus, smallest.gpus);
  EXPECT_LE(found.cost->p90, 0.9 * smallest.cost->p90);
}

// 100 for the ten days of the training, then 2 a day of the service: 108 over 14 days.
TEST(SharedCapacity, CostOverMoreDaysAddsTheService) {
  SharedRow row;
  row.days = {9.0, 10.0, 12.0};
  row.cost = Quantiles{90.0, 100.0, 120.0};
  row.service_cost_per_day = 2.0;
  EXPECT_DOUBLE_EQ(cost_over(row, 10.0), 100.0);
  EXPECT_DOUBLE_EQ(cost_over(row, 14.0), 108.0);
}

// A day that no cluster of 128 GPUs reaches.
TEST(SharedCapacity, ADeadlineThatIsTooEarlyIsAnAnswerWithItsDistance) {
  SharedQuestion q = shared_question(20.0, 64);
  q.training.train_tokens = 1e15;
  q.training.options.limits.deadline_days = 1.0;
  const SharedAnswer answer = shared_answer(q);
  EXPECT_FALSE(answer.recommended);
  ASSERT_TRUE(answer.closest);
  const SharedRow& closest = answer.rows[*answer.closest];
  ASSERT_FALSE(closest.broken_limits.empty());
  EXPECT_THAT(closest.broken_limits.front(),
              AllOf(HasSubstr("P90 is"), HasSubstr("1 are allowed")));
}

TEST(SharedCapacity, ATooSmallClusterSaysWhatTheServiceNeeds) {
  const SharedAnswer answer = shared_answer(shared_question(20.0, 16));
  EXPECT_THAT(answer.rows.front().reason, HasSubstr("the service alone needs"));
}

// No layout answers a token in 0.1 ms: the nearest says how far it is.
TEST(SharedCapacity, TargetsThatNoDeploymentMeetsSayHowNear) {
  SharedQuestion q = shared_question(20.0, 64);
  q.service.tpot_seconds = 1e-4;
  q.serving = {service_on(q.service, 128)};
  const SharedAnswer answer = shared_answer(q);
  EXPECT_FALSE(answer.recommended);
  EXPECT_FALSE(answer.clusters[0].smallest);
  ASSERT_TRUE(answer.clusters[0].service.times_over_target);
  EXPECT_GT(*answer.clusters[0].service.times_over_target, 1.0);
  EXPECT_THAT(answer.rows.front().reason, HasSubstr("times a target"));
}

}  // namespace
}  // namespace meshwright::planner
