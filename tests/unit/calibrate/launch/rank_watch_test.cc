// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/rank_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

using testing::HasSubstr;

std::string line_of(int rank, std::uint64_t operations, bool waits, double slow = 0.0) {
  return report_line({.rank = rank,
                      .host = "node7",
                      .operations = operations,
                      .waits = waits,
                      .slow_seconds = slow,
                      .operation = waits ? "in all_reduce of 1 MiB" : "in product"});
}

TEST(RankWatch, AReportIsReadAsItWasWrittenAndOtherLinesAreNone) {
  const auto report = report_from_line("[1,1]<stderr>:" + line_of(1, 12, true, 2.5));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rank, 1);
  EXPECT_EQ(report->host, "node7");
  EXPECT_EQ(report->operations, 12U);
  EXPECT_TRUE(report->waits);
  EXPECT_EQ(report->slow_seconds, 2.5);
  EXPECT_EQ(report->operation, "in all_reduce of 1 MiB");
  EXPECT_FALSE(report_from_line("calibrate: 40 %"));
  EXPECT_FALSE(report_from_line("meshwright-progress: rank 99999999999 on x: cut"));
}

TEST(RankWatch, ARankThatIsNotHeardOfIsAtFaultThoughAllWait) {
  RankWatch watch(2, seconds(30), 0.0);
  watch.read_line(line_of(0, 5, true), 1.0);
  watch.read_line(line_of(1, 5, true), 1.0);
  for (double now = 2.0; now < 30.0; now += 1.0) {
    watch.read_line(line_of(0, 5, true), now);
    EXPECT_FALSE(watch.stuck(now));
  }
  watch.read_line(line_of(0, 5, true), 31.5);
  const auto failure = watch.stuck(31.5);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_EQ(failure->host, "node7");
  EXPECT_THAT(failure->cause, HasSubstr("not been heard of for 30 s"));
  EXPECT_THAT(failure->cause, HasSubstr("last operation: in all_reduce of 1 MiB; rank 0 waits in"));
}

TEST(RankWatch, ReportsThatRepeatThemselvesAreAHang) {
  RankWatch watch(2, seconds(30), 0.0);
  for (double now = 1.0; now <= 32.0; now += 1.0) {
    watch.read_line(line_of(0, 5, true), now);
    watch.read_line(line_of(1, 4, false), now);
  }
  const auto failure = watch.stuck(32.0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_THAT(failure->cause, HasSubstr("no progress for 31 s; last operation: in product"));
}

// Rank 1 multiplies for 90 s, which a slow machine may take; rank 0 waits for it.
TEST(RankWatch, ALongProductAndTheRankThatWaitsForItAreNoHang) {
  RankWatch watch(2, seconds(30), 0.0);
  for (double now = 1.0; now <= 90.0; now += 1.0) {
    watch.read_line(line_of(0, 5, true), now);
    watch.read_line(line_of(1, 4, false, 100.0), now);
    EXPECT_FALSE(watch.stuck(now)) << now;
  }
}

TEST(RankWatch, RanksThatAllWaitForEachOtherAreStuckAndTheLastOneIsNamed) {
  RankWatch watch(2, seconds(30), 0.0);
  for (double now = 1.0; now <= 32.0; now += 1.0) {
    watch.read_line(line_of(0, 7, true), now);
    watch.read_line(line_of(1, 6, true), now);
  }
  const auto failure = watch.stuck(32.0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
  EXPECT_THAT(failure->cause, HasSubstr("all ranks wait for each other"));
}

TEST(RankWatch, ARankThatNeverStartedIsNamedAfterTheTimeout) {
  RankWatch watch(2, seconds(30), 0.0);
  watch.read_line(line_of(0, 1, true, 60.0), 29.0);
  EXPECT_FALSE(watch.stuck(29.0));
  const auto failure = watch.stuck(31.0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->rank, 1);
}

}  // namespace
}  // namespace meshwright::calibrate
