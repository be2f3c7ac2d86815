// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/core_wait.h"

#include <gtest/gtest.h>

#include "calibrate/whole_step.h"

namespace meshwright::calibrate {
namespace {

// 2.5e9 ns in the run queue.
TEST(CoreWait, IsTheSecondNumberOfTheKernelsFile) {
  EXPECT_DOUBLE_EQ(queued_seconds("81000000000 2500000000 41\n"), 2.5);
  EXPECT_DOUBLE_EQ(queued_seconds(""), 0.0);
  EXPECT_DOUBLE_EQ(queued_seconds("none"), 0.0);
}

TEST(CoreWait, NeverShrinks) {
  const double before = seconds_without_core();
  EXPECT_GE(before, 0.0);
  EXPECT_GE(seconds_without_core(), before);
}

// 3 of 4 s are left. Clocks of two sources may disagree: a hundredth is always left.
TEST(CoreWait, IsLeftOut) {
  EXPECT_DOUBLE_EQ(without_wait(4.0, 1.0), 3.0);
  EXPECT_DOUBLE_EQ(without_wait(4.0, 5.0), 0.04);
}

TEST(CoreWait, WithoutAClockAThreadHadItsCore) {
  int runs = 0;
  EXPECT_DOUBLE_EQ(share_with_core({}, [&] { ++runs; }), 1.0);
  EXPECT_EQ(runs, 1);
}

// The clock says that all of the time was waited.
TEST(CoreWait, IsAShareOfTheWork) {
  double waited = 0.0;
  const double share = share_with_core([&] { return waited; }, [&] { waited += 1e6; });
  EXPECT_NEAR(share, 0.01, 1e-12);
}

}  // namespace
}  // namespace meshwright::calibrate
