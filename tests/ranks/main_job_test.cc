// SPDX-License-Identifier: Apache-2.0
// The main job as a user runs it, on real ranks, small: calibrate, plan, trial, validate, report;
// and a trial whose rank is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <thread>

#include "sim/record/json.h"
#include "tests/ranks/rank_process.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using testing::HasSubstr;

const std::string kModel = config("models/quickstart-gpt.json");
const std::string kJob = config("jobs/quickstart.json");

ProgramResult calibrate(const std::string& profile) {
  return run_program({"calibrate", "--budget", "3s", "--ranks", "2", "--for", kModel + "," + kJob,
                      "--out", profile});
}

ProgramResult plan(const std::string& profile, const std::string& out) {
  return run_program(
      {"plan", "--model", kModel, "--job", kJob, "--cluster", profile, "--out", out});
}

TEST(MainJob, MeasuresPlansRunsComparesAndReports) {
  const TemporaryFolder folder;
  const std::string profile = folder.path("profile.json");
  const ProgramResult calibrated = calibrate(profile);
  ASSERT_EQ(calibrated.exit_code, 0) << calibrated.err;
  EXPECT_EQ(json_of(profile)["schema"], "meshwright.profile/1");

  const std::string plan_file = folder.path("plan.json");
  const ProgramResult planned = plan(profile, plan_file);
  ASSERT_EQ(planned.exit_code, 0) << planned.err;

  const std::string trials = folder.path("trials.json");
  const ProgramResult tried = run_program({"trial", plan_file, "--top", "2", "--steps", "1",
                                           "--out", trials, "--trace", folder.path("trace.json")});
  ASSERT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_GT(json_of(folder.path("trace.json"))["traceEvents"].size(), 10U);
  const auto observations = json_of(trials)["observations"];
  ASSERT_EQ(observations.size(), 2U);
  for (const auto& observation : observations) {
    EXPECT_EQ(observation["failure"], "");
    EXPECT_GT(observation["step_time_seconds"], 0.0);
  }
  // Every layout starts from the same weights and tokens and takes the same steps: the loss agrees.
  EXPECT_NEAR(observations[0]["loss"].get<double>(), observations[1]["loss"].get<double>(), 1e-3);

  const ProgramResult validated =
      run_program({"validate", plan_file, trials, "--out", folder.path("validation.json")});
  ASSERT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_EQ(run_program({"validate", plan_file, trials, "--max-error", "0.0001%"}).exit_code, 1);

  const std::string decoded = folder.path("decode.json");
  const ProgramResult inferred =
      run_program({"trial", plan_file, "--mode", "decode", "--top", "1", "--decode-tokens", "3",
                   "--steps", "1", "--out", decoded});
  ASSERT_EQ(inferred.exit_code, 0) << inferred.err;
  EXPECT_GT(json_of(decoded)["observations"][0]["tokens_per_second"], 0.0);

  const std::string html = folder.path("report.html");
  const ProgramResult reported =
      run_program({"report", plan_file, "--trials", trials, "--out", html});
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_THAT(content_of(html), HasSubstr("quickstart-gpt"));
  EXPECT_EQ(json_of(folder.path("report.json"))["schema"], "meshwright.report/1");
  for (const std::string& name : folder.names()) EXPECT_THAT(name, testing::Not(HasSubstr(".tmp")));
}

TEST(MainJob, AKilledRankEndsTheTrialAndKeepsWhatWasRun) {
  const TemporaryFolder folder;
  ASSERT_EQ(calibrate(folder.path("profile.json")).exit_code, 0);
  const std::string plan_file = folder.path("plan.json");
  ASSERT_EQ(plan(folder.path("profile.json"), plan_file).exit_code, 0);
  const std::string trials = folder.path("trials.json");
  std::future<ProgramResult> trial = std::async(std::launch::async, [&] {
    return run_program({"trial", plan_file, "--top", "5", "--steps", "40", "--out", trials});
  });
  // The first layout is done and the second one runs.
  for (int i = 0; i < 3000 && !fs::exists(trials); ++i) std::this_thread::sleep_for(100ms);
  ASSERT_TRUE(fs::exists(trials));
  const int rank_one = rank_one_of(plan_file);
  ASSERT_NE(rank_one, 0);
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(rank_one, SIGKILL), 0);
  const ProgramResult ended = trial.get();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 25s);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("rank 1"));
  EXPECT_THAT(ended.err, HasSubstr("signal 9"));
  EXPECT_GE(json_of(trials)["observations"].size(), 1U);
}

}  // namespace
}  // namespace meshwright::test
