// SPDX-License-Identifier: Apache-2.0
#include "calibrate/step_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/trial/trial.h"
#include "calibrate/workload.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"
#include "tests/unit/calibrate/one_core_cluster.h"

namespace meshwright::calibrate {
namespace {

StepDemand step_of_two_layers() {
  StepDemand step;
  step.model.name = "two";
  step.model.num_layers = 2;
  step.model.hidden_size = 64;
  step.model.ffn_hidden_size = 256;
  step.model.num_attention_heads = step.model.num_query_groups = 4;
  step.model.kv_channels = 16;
  step.model.vocab_size = 1024;
  step.model.max_position_embeddings = 4096;
  step.job.seq_length = 128;
  step.job.precision = step.job.gradient_precision = Precision::fp32;
  step.job.attention_kernel = AttentionKernel::unfused;
  step.job.global_batch_size = step.layout.micro_batch_size = 2;
  return step;
}

// Each product takes 1 us, nothing else takes any. Backward has two products for each forward.
TEST(StepCheck, TimesThePassesOfAStep) {
  IdleCompute compute;
  Alone world;
  StepCheck check(step_of_two_layers(), compute, world);
  while (!check.has_enough()) check.run();
  const auto points = check.points();
  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].label(), "forward of 2 layers of two, 256 tokens");
  EXPECT_EQ(points[0].measurement.summary.count, 5);
  EXPECT_GT(points[0].time().value(), 0.0);
  EXPECT_NEAR(points[1].time() / points[0].time(), 2.0, 1e-9);
  EXPECT_EQ(points[2].time().value(), 0.0);
  // Each step took the same, so that the last one is the median.
  EXPECT_NEAR(check.last_time() / (points[0].time() + points[1].time()), 1.0, 1e-9);
}

// The pass is measured as 1.1 of what its operators are predicted to take.
TEST(StepCheck, SaysHowMuchAPassTakesBesideItsOperators) {
  const StepDemand step = step_of_two_layers();
  std::vector<MeasuredPoint> points = step_passes(step);
  EXPECT_EQ(remainder_words(step, points), "");
  predict_operators(step, cluster_of_one_core(), points);
  for (MeasuredPoint& point : points) {
    const Seconds operators = point.as<timed::StepPass>()->operators;
    EXPECT_GT(operators.value(), 0.0);
    point.measurement.summary.median = operators * 1.1;
  }
  EXPECT_EQ(remainder_words(step, points),
            "step of two, 256 tokens, beside the sum of its operators: forward +10 %, backward +10 "
            "%, optimizer +10 %");
}

// 2 x 128 tokens: the layouts' micro-batches of 1 and 2; fp32, as cores run it.
TEST(StepCheck, AWorkloadAsksForAStepOfEachMicroBatch) {
  const StepDemand step = step_of_two_layers();
  Layout one, two;
  two.micro_batch_size = 2;
  Job job = step.job;
  job.precision = Precision::bf16;
  job.global_batch_size = 8;
  const Workload workload = workload_of(step.model, job, {{one, {one}}, {two, {two}}});
  EXPECT_EQ(trial_unsupported(step.model, step.job, step.layout), "");
  ASSERT_EQ(workload.steps.size(), 2U);
  EXPECT_EQ(workload.steps[0].layout.micro_batch_size, 1);
  EXPECT_EQ(workload.steps[1].job.global_batch_size, 2);
  EXPECT_EQ(workload.steps[1].job.precision, Precision::fp32);
}

// 70 G parameters would take minutes.
TEST(StepCheck, AModelThatIsTooLargeForACoreHasNoStep) {
  StepDemand step = step_of_two_layers();
  step.model.hidden_size = 8192;
  step.model.ffn_hidden_size = 32768;
  step.model.num_layers = 80;
  step.job.seq_length = 4096;
  EXPECT_TRUE(workload_of(step.model, step.job, {{Layout{}, {Layout{}}}}).steps.empty());
}

}  // namespace
}  // namespace meshwright::calibrate
