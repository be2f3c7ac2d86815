// SPDX-License-Identifier: Apache-2.0
#include "calibrate/agenda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

using ::testing::HasSubstr;

MeasuredPoint all_reduce_point(Bytes amount, double median = 0.0) {
  MeasuredPoint p;
  p.subject = timed::CollectiveCall{{.group_size = 2, .ranks_per_node = 2, .groups_per_node = 1}};
  p.amount = amount;
  p.measurement.summary.median = seconds(median);
  p.measurement.summary.count = 10;
  return p;
}

// Four all-reduces no profile can do without; the fifth may take a sixtieth of 60 s. Of 64 MiB,
// when 1 MiB took 0.01 s, each of its samples takes 0.64 s: two to warm up and more are too long.
TEST(Agenda, ACollectiveThatWouldEatTheBudgetIsLeftOutAndSaid) {
  std::vector<MeasuredPoint> tasks, points;
  for (const double size : {0.125, 0.25, 0.5, 1.0, 64.0})
    tasks.push_back(all_reduce_point(mebibytes(size)));
  CalibrationOptions options;
  options.budget_seconds = 60.0;
  const std::vector<double> shares(tasks.size(), 0.0);
  Agenda agenda(options, tasks, shares);
  for (std::size_t i = 0; i < 4; ++i) {
    const Decision next = agenda.next(points, 0.0);
    ASSERT_FALSE(next.stop);
    EXPECT_EQ(next.point, i);
    EXPECT_GE(next.limit, 0.02);
    EXPECT_LE(next.limit, 1.0);
    points.push_back(all_reduce_point(tasks[i].amount, 0.01));
    agenda.done(i, 0.1, true);
  }
  EXPECT_EQ(agenda.too_long(), "");
  EXPECT_TRUE(agenda.next(points, 1.0).stop);
  EXPECT_THAT(agenda.too_long(), HasSubstr("1 large collectives"));
  EXPECT_EQ(agenda.left_out(), "");
}

TEST(Agenda, WithoutTimeOnlyWhatIsNeededIsMeasuredAndTheRestIsNamed) {
  std::vector<MeasuredPoint> tasks;
  for (const double size : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0})
    tasks.push_back(all_reduce_point(mebibytes(size)));
  CalibrationOptions options;
  options.budget_seconds = 3.0;
  const std::vector<double> shares(tasks.size(), 0.0);
  Agenda agenda(options, tasks, shares);
  int measured = 0;
  for (Decision next = agenda.next({}, 5.0); !next.stop; next = agenda.next({}, 5.0)) {
    agenda.done(next.point, 0.1, true);
    ++measured;
  }
  EXPECT_EQ(measured, 4);
  EXPECT_THAT(agenda.left_out(), HasSubstr("with 2 points left out, from " + tasks[4].label()));
}

TEST(Agenda, WhatAnEarlierRunMeasuredIsPassedOver) {
  const std::vector<MeasuredPoint> tasks{all_reduce_point(mebibytes(1)),
                                         all_reduce_point(mebibytes(2))};
  CalibrationOptions options;
  options.known = {all_reduce_point(mebibytes(1), 0.01)};
  const std::vector<double> shares(tasks.size(), 0.0);
  Agenda agenda(options, tasks, shares);
  EXPECT_EQ(agenda.pass_over_known(), 1U);
  EXPECT_EQ(agenda.next(options.known, 0.0).point, 1U);
}

}  // namespace
}  // namespace meshwright::calibrate
