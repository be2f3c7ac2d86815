// SPDX-License-Identifier: Apache-2.0
#include "calibrate/reference_step.h"

#include <gtest/gtest.h>

#include "calibrate/step_check.h"
#include "calibrate/trial/trial.h"
#include "calibrate/workload.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"
#include "tests/unit/calibrate/two_layers.h"

namespace meshwright::calibrate {
namespace {

// The sequences of short_job() need a learned position each.
Model short_model() {
  Model model = two_layers();
  model.name = "two";
  model.max_position_embeddings = 128;
  return model;
}

Job short_job() {
  Job job;
  job.seq_length = 128;
  job.precision = job.gradient_precision = Precision::fp32;
  job.attention_kernel = AttentionKernel::unfused;
  job.global_batch_size = 8;
  return job;
}

// Passes of 1, 2 and 1 ms for one sequence, twice as long for two.
std::vector<MeasuredPoint> profile_points() {
  std::vector<MeasuredPoint> points;
  for (const int size : {1, 2}) {
    std::vector<MeasuredPoint> passes = step_passes(*step_alone(short_model(), short_job(), size));
    passes[0].measurement.summary.median = milliseconds(1.0 * size);
    passes[1].measurement.summary.median = milliseconds(2.0 * size);
    passes[2].measurement.summary.median = milliseconds(1.0 * size);
    points.insert(points.end(), passes.begin(), passes.end());
  }
  return points;
}

TEST(ReferenceStep, IsAStepThatTheProfileHasTimesOf) {
  const auto steps = reference_steps(profile_points(), short_model(), short_job());
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].step.layout.micro_batch_size, 1);
  EXPECT_NEAR(steps[1].calibrated.value(), 8e-3, 1e-12);
  Model other = short_model();
  other.name = "other";
  EXPECT_TRUE(reference_steps(profile_points(), other, short_job()).empty());
}

TEST(ReferenceStep, IsTheOneOfTheNearestMicroBatch) {
  const auto steps = reference_steps(profile_points(), short_model(), short_job());
  EXPECT_EQ(nearest_reference(steps, 1), &steps[0]);
  EXPECT_EQ(nearest_reference(steps, 4), &steps[1]);
  EXPECT_EQ(nearest_reference({}, 1), nullptr);
}

// A product takes 1 us and nothing else any: the step takes a time t; calibrated was a half of it.
TEST(ReferenceStep, SaysHowMuchLongerItTakesNow) {
  const StepDemand demand = *step_alone(short_model(), short_job(), 1);
  IdleCompute compute;
  Alone world;
  StepCheck check(demand, compute, world);
  while (!check.has_enough()) check.run();
  const auto reference = start_reference({demand, check.last_time() * 0.5}, compute, world);
  EXPECT_NEAR(reference->time_ratio(), 2.0, 1e-9);
}

class SlowHost : public SpeedReference {
 public:
  explicit SlowHost(int& looks) : looks_(looks) {}
  double time_ratio() override {
    ++looks_;
    return 1.25;
  }

 private:
  int& looks_;
};

// Two warm-up steps and five timed ones: a look before the first timed one and after each.
TEST(ReferenceStep, RunsAroundEachTimedStepOfATrial) {
  IdleCompute compute;
  compute.description.free_memory = gibibytes(8);
  Alone world;
  int looks = 0;
  TrialOptions options;
  options.most_repeats = 0;
  options.speed_reference = [&](const Layout&, Compute&, Communicator&) {
    return std::make_unique<SlowHost>(looks);
  };
  Job job = short_job();
  job.global_batch_size = 2;
  const Observation o = run_trial(short_model(), job, Layout{}, compute, world, options);
  EXPECT_EQ(o.failure, "");
  EXPECT_EQ(looks, 6);
  ASSERT_TRUE(o.host_time_ratio.has_value());
  EXPECT_NEAR(*o.host_time_ratio, 1.25, 1e-12);
  EXPECT_EQ(o.host_time_reference, HostTimeReference::model_step);
}

}  // namespace
}  // namespace meshwright::calibrate
