// SPDX-License-Identifier: Apache-2.0
// A calibration on real ranks: one that is killed goes on where it stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <thread>

#include "tests/ranks/rank_process.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

std::size_t lines_of(const std::string& path) {
  const std::string text = content_of(path);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

ProgramResult calibrate(const std::string& profile, const std::string& budget) {
  return run_program({"calibrate", "--budget", budget, "--ranks", "2", "--out", profile});
}

TEST(Calibrate, AKilledRunGoesOnWhereItStopped) {
  const TemporaryFolder folder;
  const std::string profile = folder.path("profile.json");
  const std::string journal = profile + ".partial.jsonl";
  std::future<ProgramResult> first =
      std::async(std::launch::async, [&] { return calibrate(profile, "90s"); });
  for (int i = 0; i < 3000 && lines_of(journal) < 6; ++i) std::this_thread::sleep_for(20ms);
  const int rank_one = rank_one_of(profile);
  ASSERT_NE(rank_one, 0);
  ASSERT_EQ(::kill(rank_one, SIGKILL), 0);
  const ProgramResult killed = first.get();
  EXPECT_EQ(killed.exit_code, 3);
  EXPECT_THAT(killed.err, HasSubstr("points measured so far are in"));
  ASSERT_FALSE(std::filesystem::exists(profile));
  const std::size_t kept = lines_of(journal) - 1;  // the first line says whose it is
  ASSERT_GE(kept, 5U);

  const ProgramResult second = calibrate(profile, "5s");
  ASSERT_EQ(second.exit_code, 0) << second.err;
  EXPECT_THAT(second.err, HasSubstr("goes on after " + std::to_string(kept) + " points"));
  EXPECT_GE(json_of(profile)["measurements"].size(), kept);
  EXPECT_FALSE(std::filesystem::exists(journal));
}

}  // namespace
}  // namespace meshwright::test
