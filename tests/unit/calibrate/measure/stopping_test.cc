// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/stopping.h"

#include <gtest/gtest.h>

#include <vector>

namespace meshwright::calibrate {
namespace {

const StopOptions kOptions{.target_error = 0.01,
                           .min_seconds = 0.1,
                           .max_seconds = 1.0,
                           .min_samples = 5,
                           .max_samples = 50};

TEST(Stopping, GoesOnUntilThereAreEnoughSamplesHoweverLongThatTakes) {
  EXPECT_EQ(stop_reason(kOptions, std::vector(4, 1.0), 100.0), StopReason::go_on);
}

TEST(Stopping, SteadySamplesStopAfterTheMinimumTimeOnly) {
  const std::vector<double> samples(5, 1.0);
  EXPECT_EQ(stop_reason(kOptions, samples, 0.09), StopReason::go_on);
  EXPECT_EQ(stop_reason(kOptions, samples, 0.11), StopReason::steady);
}

// 90 and 110 in turn: p10 = 90, p90 = 110, median 100 (even count), spread 20 / 256.3 = 0.078.
// Error of the median: 1.2533 * 0.078 / sqrt(20) = 0.0219 > 0.01; it needs (1.2533*0.078/0.01)^2
// = 96 samples.
TEST(Stopping, NoisySamplesGoOnUntilTheTimeIsUsedUp) {
  std::vector<double> samples;
  for (int i = 0; i < 10; ++i) samples.insert(samples.end(), {90.0, 110.0});
  EXPECT_EQ(stop_reason(kOptions, samples, 0.5), StopReason::go_on);
  EXPECT_EQ(stop_reason(kOptions, samples, 1.0), StopReason::time_used_up);
  StopOptions patient = kOptions;
  patient.max_samples = 200;
  for (int i = 0; i < 40; ++i) samples.insert(samples.end(), {90.0, 110.0});
  EXPECT_EQ(stop_reason(patient, samples, 0.5), StopReason::steady);
}

TEST(Stopping, ThereIsALargestNumberOfSamples) {
  EXPECT_EQ(stop_reason(kOptions, std::vector(50, 1.0), 0.01), StopReason::enough_samples);
}

}  // namespace
}  // namespace meshwright::calibrate
