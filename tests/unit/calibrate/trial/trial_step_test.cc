// SPDX-License-Identifier: Apache-2.0
// What a step asks of a GPU, on a device that only notes it.
#include "calibrate/trial/trial_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/trial/trial.h"
#include "tests/ranks/small_models.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

// Numbers that the host asks for, and so waits for, in the second step.
std::ptrdiff_t downloads(const Model& model, const StepOptions& options = {}) {
  IdleCompute gpu;
  Alone ranks;
  TrialStep step(model, small_job(), Layout{}, gpu, ranks, options);
  step.run();
  gpu.asked.clear();
  step.run();
  return std::count(gpu.asked.begin(), gpu.asked.end(), "download");
}

TEST(TrialStepTest, TheHostWaitsForTheLossOnceAStep) {
  ASSERT_GT(num_micro_batches(small_job().global_batch_size, Layout{}), 1);
  EXPECT_EQ(downloads(small_model()), 1);
}

TEST(TrialStepTest, BalancedTokensAreRoutedWithoutTheHost) { EXPECT_EQ(downloads(small_moe()), 1); }

// Three of four layers have experts. Of each the host has to know how many copies go where.
TEST(TrialStepTest, ARealRouterTellsTheHostCountsOnly) {
  const int micro_batches = num_micro_batches(small_job().global_batch_size, Layout{});
  EXPECT_EQ(downloads(small_moe(), {.moe_router_force_load_balancing = false}),
            1 + 3 * micro_batches);
}

TEST(TrialStepTest, RoutingThatTheHostDoesIsSaidOfAGpu) {
  IdleCompute gpu;
  gpu.description.memory = gpu.description.free_memory = bytes(1);  // nothing is begun
  Alone ranks;
  const Job job = small_job();
  const Observation dropped = run_trial(small_moe_with_capacity(), job, Layout{}, gpu, ranks, {});
  EXPECT_THAT(dropped.not_run, Contains(HasSubstr("routing of tokens on the device")));
  const Observation on_device = run_trial(small_moe(), job, Layout{}, gpu, ranks, {});
  EXPECT_THAT(on_device.not_run, ::testing::Not(Contains(HasSubstr("routing of tokens"))));
}

}  // namespace
}  // namespace meshwright::calibrate
