// SPDX-License-Identifier: Apache-2.0
#include "sim/step/observation.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

Observation run(int steps, double p10, double median, double p90) {
  Observation o;
  o.steps = steps;
  o.step_time = milliseconds(median);
  o.step_time_p10 = milliseconds(p10);
  o.step_time_p90 = milliseconds(p90);
  return o;
}

// sigma = 2.563 / 2.563 / 10 = 0.1 of the median; sqrt(pi/2) = 1.2533; 1.2533 * 0.1 / sqrt(25).
TEST(Observation, MedianIsAsGoodAsItsStandardError) {
  EXPECT_NEAR(step_time_error(run(25, 9.0, 10.0, 11.563)), 0.025066, 1e-6);
  EXPECT_EQ(step_time_error(run(3, 9.0, 10.0, 11.563)), 0.0);
}

// With 4 steps the same spread is 1.2533 * 0.1 / 2 = 6.3 %, with 9 it is 4.2 %.
TEST(Observation, ANoisyHostIsOneWhoseMedianOrTrendIsDoubtful) {
  EXPECT_TRUE(is_noisy(run(4, 9.0, 10.0, 11.563)));
  EXPECT_FALSE(is_noisy(run(9, 9.0, 10.0, 11.563)));
  Observation slower = run(9, 9.9, 10.0, 10.1);
  EXPECT_FALSE(is_noisy(slower));
  slower.step_time_drift = 0.12;
  EXPECT_TRUE(is_noisy(slower));
  slower.step_time_drift = -0.12;
  EXPECT_TRUE(is_noisy(slower));
}

TEST(Observation, AHostThatIsNoLongerAsFastAsCalibratedIsNoisy) {
  Observation o = run(9, 9.9, 10.0, 10.1);
  o.host_time_ratio = 1.08;
  EXPECT_FALSE(is_noisy(o));
  o.host_time_ratio = 1.12;
  EXPECT_TRUE(is_noisy(o));
  o.host_time_ratio = 0.8;
  EXPECT_TRUE(is_noisy(o));
  EXPECT_EQ(host_speed_words(1.12), "12 % slower than calibrated");
  EXPECT_EQ(host_speed_words(0.8), "25 % faster than calibrated");
  EXPECT_EQ(host_speed_words(1.001), "as fast as calibrated");
  EXPECT_EQ(noise_words(0.06, 0.12, std::nullopt, 1), "median +-6 %, drift +12 %");
  EXPECT_EQ(noise_words(0.06, -0.12, 1.25, 2),
            "median +-6 %, drift -12 %, host 25 % slower than calibrated, least noisy of 2 runs");
}

TEST(Observation, NamesAnotherProgramAndItsCore) {
  EXPECT_EQ(other_program_words({"stress", 0.98, 1}),
            "another program (stress) used 98 % of core 1");
  EXPECT_EQ(other_program_words({"make", 1.6, -1}), "another program (make) used 1.6 cores");
}

// Limits are 5, 10 and 10 %: a drift of -12 % is 1.2, a host 20 % slower 2.
TEST(Observation, NoiseIsTheLargestOfThreeOverItsLimit) {
  Observation o = run(9, 9.9, 10.0, 10.1);
  o.step_time_drift = -0.12;
  EXPECT_NEAR(noise_of(o), 1.2, 1e-12);
  o.host_time_ratio = 1.2;
  EXPECT_NEAR(noise_of(o), 2.0, 1e-12);
}

TEST(Observation, OfTwoRunsTheCalmerIsKeptAndOneThatFailedIsNot) {
  Observation noisy = run(9, 9.9, 10.0, 10.1), calm = run(9, 9.9, 12.0, 12.1);
  noisy.step_time_drift = 0.3;
  EXPECT_EQ(calmer_of(noisy, calm).step_time, milliseconds(12));
  EXPECT_EQ(calmer_of(noisy, calm).runs, 2);
  EXPECT_EQ(calmer_of(calm, noisy).step_time, milliseconds(12));
  calm.failure = "out of memory";
  EXPECT_EQ(calmer_of(noisy, calm).step_time, milliseconds(10));
  EXPECT_EQ(calmer_of(noisy, calm).runs, 2);
}

}  // namespace
}  // namespace meshwright
