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

}  // namespace
}  // namespace meshwright::calibrate
