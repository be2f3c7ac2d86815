// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/trial/trial.h"
#include "tests/ranks/small_models.h"
#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

// This rank's GPU has room for it, the other's has 10 kB: no rank begins, all record why.
TEST(TrialMemory, ALayoutThatDoesNotFitOnSomeRankIsRecordedAndNotBegun) {
  IdleCompute gpu;
  gpu.description.memory = gpu.description.free_memory = gibibytes(80);
  Alone ranks;
  ranks.slowest_ = -10e3;  // of the negative: the least
  const Observation o =
      run_trial(small_model(), small_job(Precision::bf16), Layout{}, gpu, ranks, {});
  EXPECT_THAT(o.failure, HasSubstr("as the trial runs it"));
  EXPECT_THAT(o.failure, HasSubstr("0.0 GiB are free"));
  EXPECT_EQ(o.run_precision, Precision::bf16);
  EXPECT_TRUE(gpu.gemms.empty());
  EXPECT_EQ(o.steps, 0);
}

// Weights once more, 2 bytes beside 16 (weight, gradient, two moments), and the copies in 16 bits
// that a product reads or a message is: more than 0 and, in a model of so few numbers, less than a
// quarter.
TEST(TrialMemory, ARunIn16BitsTakesWhatOneIn32DoesAndItsCopies) {
  Layout layout;
  layout.tensor_parallel_size = 2;
  const double wide = trial_memory(small_model(), small_job(), layout).value();
  const double half = trial_memory(small_model(), small_job(Precision::bf16), layout).value();
  EXPECT_GT(half, wide);
  EXPECT_LT(half, 1.25 * wide);
}

}  // namespace
}  // namespace meshwright::calibrate
