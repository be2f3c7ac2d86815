// SPDX-License-Identifier: Apache-2.0
#include "app/files/point_journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/base/error.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::app {
namespace {

using testing::HasSubstr;

const JournalOwner kTwoRanks{"a core", "cpu", {"here", "here"}};

calibrate::MeasuredPoint product(std::int64_t m) {
  calibrate::MeasuredPoint point;
  point.subject = calibrate::timed::Gemm{{.variant = {.shape = {1, m, 64, 64}}}};
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
    EXPECT_EQ(journal.add(product(1), 1.5), "");
    EXPECT_EQ(journal.add(product(2), 2.5), "");
  }
  std::string content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  JournalContent read(const JournalOwner& owner) {
    refused_.clear();
    return read_journal(path_, owner, refused_);
  }

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
    EXPECT_EQ(journal.add(product(3), 4.0), "");
  }
  EXPECT_EQ(read(kTwoRanks).points.size(), 3U);
  EXPECT_THAT(folder_.names(), testing::ElementsAre("p.json.partial.jsonl"));
}

// A planned point has no times, one that was measured has.
calibrate::MeasuredPoint planned(std::int64_t m) {
  calibrate::MeasuredPoint point = product(m);
  point.measurement = {};
  return point;
}

// Run 1 measures product 1 and is killed at 2. Run 2 is killed there, too. The third leaves it out.
TEST_F(PointJournalTest, APointThatEndsTwoRunsIsGivenUp) {
  for (int run = 1; run <= 2; ++run) {
    PointJournal journal(path_, kTwoRanks, read(kTwoRanks));
    journal.begin(planned(1));
    EXPECT_EQ(journal.add(product(1), 1.5), "");
    journal.begin(planned(2));
    EXPECT_EQ(read(kTwoRanks).given_up(planned(2)).empty(), run == 1);
  }
  const JournalContent content = read(kTwoRanks);
  EXPECT_THAT(content.given_up(planned(2)), HasSubstr("2 calibrations ended"));
  EXPECT_EQ(content.given_up(planned(1)), "");
  EXPECT_EQ(content.given_up(planned(3)), "");
  EXPECT_EQ(content.points.size(), 2U);
}

// The device had not the memory for product 1: the next one was begun, so 1 has ended nothing.
TEST_F(PointJournalTest, APointAfterWhichAnotherIsBegunHasEndedNothing) {
  for (int run = 1; run <= 2; ++run) {
    PointJournal journal(path_, kTwoRanks, read(kTwoRanks));
    journal.begin(planned(1));
    journal.begin(planned(2));
    EXPECT_EQ(journal.add(product(2), 1.5), "");
  }
  EXPECT_EQ(read(kTwoRanks).given_up(planned(1)), "");
}

TEST_F(PointJournalTest, ADroppedPointIsNotTriedAgainInAnyLaterRun) {
  for (int run = 1; run <= 3; ++run) {
    PointJournal journal(path_, kTwoRanks, read(kTwoRanks));
    if (run > 1) continue;
    journal.begin(planned(1));
    journal.drop(planned(1), "cuBLASLt has no such product");
  }
  EXPECT_EQ(read(kTwoRanks).given_up(planned(1)), "cuBLASLt has no such product");
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

// Like a full disk: writes past `size` fail while this lives.
class FileLimit {
 public:
  explicit FileLimit(std::uintmax_t size) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{size, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(PointJournalTest, AFullDiskCostsNoPointOnceThereIsRoomAgain) {
  PointJournal journal(path_, kTwoRanks, {});
  ASSERT_EQ(journal.add(product(1), 1.5), "");
  {
    const FileLimit limit(std::filesystem::file_size(path_) + 20);  // a line is longer
    EXPECT_THAT(journal.add(product(2), 2.5), HasSubstr("too large"));
    EXPECT_EQ(read(kTwoRanks).points.size(), 1U);
  }
  EXPECT_EQ(journal.add(product(3), 3.5), "");
  EXPECT_EQ(read(kTwoRanks).points.size(), 3U);
}

TEST_F(PointJournalTest, ADiskThatIsFullFromTheStartIsAFailure) {
  const FileLimit limit(20);
  EXPECT_THROW(PointJournal(path_, kTwoRanks, {}), SystemError);
}

TEST_F(PointJournalTest, AFileThatIsNoJournalIsNotWrittenOver) {
  for (const char* content : {"notes of mine", "{}", R"({"schema": "meshwright.plan/1"})"}) {
    folder_.write("p.json.partial.jsonl", content);
    EXPECT_THROW(check_journal(path_), InputError) << content;
  }
  folder_.write("p.json.partial.jsonl", "");
  EXPECT_NO_THROW(check_journal(path_));
  write_two_points();
  EXPECT_NO_THROW(check_journal(path_));
}

// Each byte of a journal in turn becomes another one.
TEST_F(PointJournalTest, ABrokenJournalIsRefusedOrReadUpToTheBreak) {
  write_two_points();
  const std::string good = content();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const char byte : {'\0', '"', '9', '\xff', '{'}) {
      std::string bad = good;
      bad[i] = byte;
      folder_.write("p.json.partial.jsonl", bad);
      try {
        EXPECT_LE(read(kTwoRanks).points.size(), 2U);
      } catch (const InputError&) {
      }
    }
  }
}

TEST_F(PointJournalTest, NothingThereIsNothingRefused) {
  EXPECT_TRUE(read(kTwoRanks).points.empty());
  EXPECT_EQ(refused_, "");
}

}  // namespace
}  // namespace meshwright::app
