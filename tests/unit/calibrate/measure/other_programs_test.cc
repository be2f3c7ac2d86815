// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/other_programs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace meshwright::calibrate {
namespace {

// Fields 3 to 39: utime 250 and stime 50 ticks of a hundredth of a second; 1 thread; processor 1.
constexpr const char* kOneThread =
    "42 (a (b) c) R 1 42 42 0 -1 4194304 90 0 0 0 250 50 0 0 20 0 1 0 12345 1000 50 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0";

TEST(OtherPrograms, ReadsALineOfProc) {
  const auto process = process_time(kOneThread, 100.0);
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ(*process, (ProcessTime{42, "a (b) c", 3.0, 1, 12345}));
  EXPECT_FALSE(process_time("42 (short) R 1 2", 100.0).has_value());
  EXPECT_FALSE(process_time("", 100.0).has_value());
}

// In 10 s: two of "make" took 4 and 5 s, on two cores; "stress" took 8 s; the trial's own rank 10.
TEST(OtherPrograms, NamesTheBusiestThatIsNotOurs) {
  const std::vector<ProcessTime> before{
      {1, "make", 1.0, 0}, {3, "stress", 100.0, 1}, {9, "rank", 5.0, 0}};
  std::vector<ProcessTime> after{
      {1, "make", 5.0, 0}, {2, "make", 5.0, 1}, {3, "stress", 108.0, 1}, {9, "rank", 15.0, 0}};
  EXPECT_EQ(busiest_other(before, after, 10.0, {9}), (OtherProgram{"make", 0.9, -1}));
  after[1].seconds = 0.5;
  EXPECT_EQ(busiest_other(before, after, 10.0, {9}), (OtherProgram{"stress", 0.8, 1}));
}

// A kernel worker that has another name used what it used since, not all of its life. Process 7
// ended, and a new one has its number.
TEST(OtherPrograms, AProcessIsItsNumberAndItsStart) {
  const std::vector<ProcessTime> before{{4, "kworker/0:1-flush", 30.0, 0, 5},
                                        {7, "make", 30.0, 1, 6}};
  EXPECT_FALSE(busiest_other(before, {{4, "kworker/0:1-idle", 30.1, 0, 5}}, 10.0, {}).has_value());
  EXPECT_EQ(busiest_other(before, {{7, "make", 2.0, 1, 900}}, 10.0, {}),
            (OtherProgram{"make", 0.2, 1}));
}

// A twentieth of a core is a desktop's normal.
TEST(OtherPrograms, NamesNoneThatUsesLittle) {
  EXPECT_FALSE(busiest_other({}, {{3, "clock", 0.5, 1}}, 10.0, {}).has_value());
}

TEST(OtherPrograms, FindsThisProcess) {
  const std::vector<ProcessTime> all = processes_now();
  if (all.empty()) GTEST_SKIP() << "no /proc";
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const ProcessTime& p) {
    return p.pid == static_cast<int>(getpid());
  }));
}

}  // namespace
}  // namespace meshwright::calibrate
