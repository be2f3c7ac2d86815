// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/host.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright {
namespace {

// 3 and 4: (27 + 64)^(1/3) = 91^(1/3) = 4.498.
TEST(Overlapped, IsTheThreeNorm) {
  EXPECT_NEAR(overlapped(seconds(3), seconds(4)).value(), 4.498, 1e-3);
  EXPECT_EQ(overlapped(seconds(3), seconds(4)), overlapped(seconds(4), seconds(3)));
  EXPECT_EQ(overlapped(seconds(0), seconds(4)), seconds(4));
}

// Equal times: 2^(1/3) of one, so 0.2599 of it is added.
TEST(HostTime, AddsAQuarterWhereHostAndDeviceAreAlike) {
  EXPECT_NEAR(host_time(seconds(1), seconds(1)).value(), std::cbrt(2.0) - 1.0, 1e-15);
}

// 1 beside 10: 10 * (1.001^(1/3) - 1) = 10 * 0.000333 = 0.00333. 10 beside 1: 10.00333 - 1.
TEST(HostTime, TheLongerOneWinsWhereOneDominates) {
  EXPECT_NEAR(host_time(seconds(1), seconds(10)).value(), 0.003332, 1e-6);
  EXPECT_NEAR(host_time(seconds(10), seconds(1)).value(), 9.003332, 1e-6);
}

TEST(HostTime, IsNothingForAHostThatLaunchesAtOnceAndForNoWork) {
  EXPECT_EQ(host_time(seconds(0), seconds(5)), seconds(0));
  EXPECT_EQ(host_time(seconds(0), seconds(0)), seconds(0));
}

TEST(HostTime, NeverFallsWhenLaunchingTakesLonger) {
  Seconds before;
  for (int i = 0; i <= 40; ++i) {
    const Seconds now = host_time(seconds(0.1 * i), seconds(2));
    EXPECT_GE(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace meshwright
