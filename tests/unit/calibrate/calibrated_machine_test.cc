// SPDX-License-Identifier: Apache-2.0
#include "calibrate/calibrated_machine.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

MeasuredPoint spread_point(double spread, bool noisy) {
  MeasuredPoint p;
  p.measurement.noisy = noisy;
  p.measurement.summary.relative_spread = spread;
  return p;
}

TEST(NoisyWords, AreOneSentenceForAllPoints) {
  const std::string words =
      noisy_words({spread_point(0.2, true), spread_point(0.01, false), spread_point(0.43, true)});
  EXPECT_EQ(words.rfind("2 of 3 points were measured twice and differ still", 0), 0U) << words;
  EXPECT_NE(words.find("by 43 %"), std::string::npos) << words;
}

TEST(NoisyWords, AreNoneOfAQuietMachine) {
  EXPECT_EQ(noisy_words({spread_point(0.01, false)}), "");
}

}  // namespace
}  // namespace meshwright::calibrate
