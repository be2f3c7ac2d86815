// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/checkpoint.h"

#include <gtest/gtest.h>

#include "planner/capacity/failures.h"
#include "planner/capacity/goodput.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

double minutes(Seconds time) { return time.value() / 60.0; }

// 16,384 GPUs at 3.79 per 1,000 node-days: M = 86,400 / (2,048 x 0.00379) = 11,131 s.
const Seconds kBetween = mean_time_between_failures(16384, 3.79);

// Adam: master 4, moments 4 + 4; with bf16 weights 2 more. fp32 has no second copy. SGD's momentum
// is one number.
TEST(Checkpoint, HoldsMasterWeightsAndMoments) {
  Job job = small_job();
  EXPECT_EQ(checkpoint_bytes_per_parameter(job, false), 12.0);
  EXPECT_EQ(checkpoint_bytes_per_parameter(job, true), 14.0);
  job.precision = Precision::fp32;
  EXPECT_EQ(checkpoint_bytes_per_parameter(job, true), 12.0);
  job.optimizer = Optimizer::sgd;
  EXPECT_EQ(checkpoint_bytes_per_parameter(job, true), 8.0);
}

// sqrt(2 x 10 x 11,131) = 471.8 s = 7.86 min.
TEST(Checkpoint, YoungsInterval) {
  EXPECT_NEAR(minutes(young_interval(seconds(10), kBetween)), 7.864, 0.001);
  EXPECT_NEAR(minutes(young_interval(seconds(60), kBetween)), 19.262, 0.001);
  EXPECT_NEAR(minutes(young_interval(seconds(300), kBetween)), 43.072, 0.001);
}

TEST(Checkpoint, NoIntervalBeatsTheRenewalForms) {
  for (const double pause : {1.0, 60.0, 300.0, 5000.0}) {
    const Seconds w = seconds(pause);
    const Seconds best = renewal_interval(w, kBetween);
    const double most = renewal_ettr(kBetween, w, seconds(600), best);
    for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0}) {
      EXPECT_GT(most, renewal_ettr(kBetween, w, seconds(600), best * factor)) << pause;
    }
  }
  EXPECT_NEAR(minutes(renewal_interval(seconds(60), kBetween)), 18.602, 0.001);
  EXPECT_EQ(renewal_interval(seconds(0), kBetween).value(), 0.0);
}

}  // namespace
}  // namespace meshwright::planner
