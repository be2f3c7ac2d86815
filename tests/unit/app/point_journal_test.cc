// SPDX-License-Identifier: Apache-2.0
#include "app/point_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "tests/unit/app/run_program.h"

namespace meshwright::app {
namespace {

using testing::HasSubstr;

const JournalOwner kTwoRanks{"a core", "cpu", {"here", "here"}};

calibrate::MeasuredPoint product(std::int64_t m) {
  calibrate::MeasuredPoint point;
  point.shape = {1, m, 64, 64};
  point.amount = bytes(1);
  point.measurement.summary = {.median = seconds(1e-3),
                               .min = seconds(1e-3),
                               .p10 = seconds(1e-3),
                               .p90 = seconds(1e-3),
                               .count = 5};
  return point;
}

class PointJournalTest : public testing::Test {
 protected:
  void write_two_points() {
    PointJournal journal(path_, kTwoRanks, {});
    journal.add(product(1), 1.5);
    journal.add(product(2), 2.5);
  }
  JournalContent read(const JournalOwner& owner) { return read_journal(path_, owner, refused_); }

  test::TemporaryFolder folder_;
  std::string path_ = folder_.path("p.json.partial.jsonl");
  std::string refused_;
};

TEST_F(PointJournalTest, WhatWasAddedIsReadBackWithTheTimeThatItTook) {
  write_two_points();
  const JournalContent content = read(kTwoRanks);
  ASSERT_EQ(content.points.size(), 2U);
  EXPECT_TRUE(same_subject(content.points[1], product(2)));
  EXPECT_DOUBLE_EQ(content.used_seconds, 2.5);
  EXPECT_EQ(refused_, "");
}

TEST_F(PointJournalTest, ALineThatWasCutOffIsLeftOut) {
  write_two_points();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 20);
  const JournalContent content = read(kTwoRanks);
  EXPECT_EQ(content.points.size(), 1U);
  EXPECT_DOUBLE_EQ(content.used_seconds, 1.5);
}

TEST_F(PointJournalTest, ARunThatGoesOnKeepsTheEarlierPoints) {
  write_two_points();
  {
    PointJournal journal(path_, kTwoRanks, read(kTwoRanks));
    journal.add(product(3), 4.0);
  }
  EXPECT_EQ(read(kTwoRanks).points.size(), 3U);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("p.json.partial.jsonl"));
}

TEST_F(PointJournalTest, OtherRanksDoNotTakeItOver) {
  write_two_points();
  EXPECT_TRUE(read({"a core", "cpu", {"here"}}).points.empty());
  EXPECT_THAT(refused_, HasSubstr("another number of ranks"));
}

TEST_F(PointJournalTest, YesterdaysPointsAreNotTakenOver) {
  write_two_points();
  std::filesystem::last_write_time(
      path_, std::filesystem::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_TRUE(read(kTwoRanks).points.empty());
  EXPECT_THAT(refused_, HasSubstr("older than a day"));
}

TEST_F(PointJournalTest, NothingThereIsNothingRefused) {
  EXPECT_TRUE(read(kTwoRanks).points.empty());
  EXPECT_EQ(refused_, "");
}

}  // namespace
}  // namespace meshwright::app
