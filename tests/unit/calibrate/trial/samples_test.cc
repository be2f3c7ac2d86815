// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/samples.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// Halves 1, 2 and 3, 5 with medians 1.5 and 4: 4 / 1.5 - 1.
TEST(Samples, DriftComparesTheHalvesOfTheSteps) {
  EXPECT_NEAR(drift_of({1.0, 2.0, 3.0, 5.0}), 5.0 / 3.0, 1e-12);
  EXPECT_NEAR(drift_of({1.0, 2.0, 99.0, 3.0, 5.0}), 5.0 / 3.0, 1e-12);
  EXPECT_EQ(drift_of({1.0, 2.0, 3.0}), 0.0);
}

// Steps of 1, 1.5 and 2.2 s on a host that took 1, 1.5 and 2 times as long: 1, 1 and 1.1 s at the
// calibrated speed. Medians: 1.5 / 1.
TEST(Samples, EachStepIsComparedWithTheReferenceAroundIt) {
  EXPECT_NEAR(host_time_ratio_of({1.0, 1.5, 2.2}, {1.0, 1.5, 2.0}), 1.5, 1e-12);
  EXPECT_NEAR(host_time_ratio_of({3.0}, {0.8}), 0.8, 1e-12);
}

}  // namespace
}  // namespace meshwright::calibrate
