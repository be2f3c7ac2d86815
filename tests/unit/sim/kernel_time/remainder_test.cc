// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/remainder.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// Forward took 10 % more than its operators at 256 tokens, 2 % more at 1024.
Device measured_device() {
  Device device;
  device.step_remainders = {{ComputePass::forward, 256, 0.10, 0.03},
                            {ComputePass::forward, 1024, 0.02, 0.01},
                            {ComputePass::optimizer, 1, -0.05, 0.02}};
  return device;
}

// log2: 512 is half of the way from 256 to 1024: (0.10 + 0.02) / 2 = 0.06.
TEST(Remainder, IsLinearOverTheLogarithmOfTokensAndTheNearestOutside) {
  const Device device = measured_device();
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::forward, 256), 0.10);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::forward, 512), 0.06);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::forward, 1024), 0.02);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::forward, 64), 0.10);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::forward, 4096), 0.02);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::optimizer, 512), -0.05);
  EXPECT_DOUBLE_EQ(remainder_share(device, ComputePass::backward, 512), 0.0);
}

// 100 us of operators: 106 us, with half of the spreads 0.03 and 0.01 each.
TEST(Remainder, IsAddedToTheOperatorsAndBringsTheSpreadOfThePass) {
  const Cost operators{microseconds(100), 0.2, Provenance::measured};
  const Cost pass = with_remainder(operators, measured_device(), ComputePass::forward, 512);
  EXPECT_NEAR(pass.time.value(), 106e-6, 1e-15);
  EXPECT_DOUBLE_EQ(pass.relative_spread, 0.02);
  const Cost backward = with_remainder(operators, measured_device(), ComputePass::backward, 512);
  EXPECT_DOUBLE_EQ(backward.time.value(), 100e-6);
  EXPECT_DOUBLE_EQ(backward.relative_spread, 0.2);
}

}  // namespace
}  // namespace meshwright
