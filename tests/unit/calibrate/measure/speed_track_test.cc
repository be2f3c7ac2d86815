// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/speed_track.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// References of 1.0, 1.2 and 2.0 ms have the median 1.2 ms: they are 1.0 / 1.2, 1 and 2.0 / 1.2 of
// it.
TEST(SpeedTrack, SlowdownIsLinearBetweenLooksAndTheNearestOutside) {
  SpeedTrack track;
  track.add(10.0, 1.0e-3);
  track.add(12.0, 1.2e-3);
  track.add(16.0, 2.0e-3);
  EXPECT_DOUBLE_EQ(track.slowdown_at(9.0), 1.0 / 1.2);
  EXPECT_DOUBLE_EQ(track.slowdown_at(11.0), 1.1 / 1.2);  // half of the way from 1.0 to 1.2
  EXPECT_DOUBLE_EQ(track.slowdown_at(12.0), 1.0);
  EXPECT_DOUBLE_EQ(track.slowdown_at(13.0), 1.4 / 1.2);  // a quarter of the way from 1.2 to 2.0
  EXPECT_DOUBLE_EQ(track.slowdown_at(99.0), 2.0 / 1.2);
  EXPECT_DOUBLE_EQ(track.least(), 1.0 / 1.2);
  EXPECT_DOUBLE_EQ(track.most(), 2.0 / 1.2);
}

// The look of 9 ms is a disturbance of one moment: the median of 1, 9 and 1 ms is 1 ms.
TEST(SpeedTrack, OneDisturbedLookIsNoDrift) {
  SpeedTrack track;
  for (const double milliseconds : {1.0, 1.0, 9.0, 1.0, 1.0}) {
    track.add(static_cast<double>(track.count()), milliseconds * 1e-3);
  }
  EXPECT_DOUBLE_EQ(track.slowdown_at(2.0), 1.0);
}

TEST(SpeedTrack, WithoutALookNothingIsDivided) {
  EXPECT_DOUBLE_EQ(SpeedTrack{}.slowdown_at(1.0), 1.0);
  EXPECT_DOUBLE_EQ(SpeedTrack{}.most(), 1.0);
}

}  // namespace
}  // namespace meshwright::calibrate
