// SPDX-License-Identifier: Apache-2.0
#include "app/console/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace meshwright::app {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

struct ShownLines {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<std::string> all;

  Progress::Show show() {
    return [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      all.emplace_back(line);
      came.notify_all();
    };
  }
};

TEST(Progress, SaysWhatALongSearchIsAtAndTakesTheLineAway) {
  ShownLines lines;
  {
    Progress progress("searching layouts", lines.show(), milliseconds(0));
    std::unique_lock lock(lines.mutex);
    ASSERT_TRUE(
        lines.came.wait_for(lock, std::chrono::seconds(30), [&] { return !lines.all.empty(); }));
  }
  ASSERT_GE(lines.all.size(), 2U);
  EXPECT_EQ(lines.all.front(), "searching layouts: 0 s");
  EXPECT_EQ(lines.all.back(), "");
}

TEST(Progress, OfAShortSearchIsNotShown) {
  ShownLines lines;
  { Progress progress("searching layouts", lines.show(), std::chrono::hours(1)); }
  EXPECT_THAT(lines.all, testing::IsEmpty());
}

// 36 searches of 2 s each are 72 s; of 0.1 s they are 3.6 s, which are not announced.
TEST(LongWait, IsAnnouncedPastFiveSeconds) {
  const std::string text = long_wait_text(std::chrono::seconds(2), 36, "--ranking-only");
  for (const char* words : {"72 s", "36 more searches", "--ranking-only skips"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
  EXPECT_LE(text.size(), 80);  // one line
  EXPECT_EQ(long_wait_text(milliseconds(100), 36, "--ranking-only"), "");
}

}  // namespace
}  // namespace meshwright::app
