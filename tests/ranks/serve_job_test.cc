// SPDX-License-Identifier: Apache-2.0
// A service as a user runs it, on real ranks, small: calibrate, serve, trial, validate, report; and
// a trial whose rank is killed or stopped.
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

const std::string kServedModel = config("models/quickstart-gpt.json");

ProgramResult calibrate_for_service(const std::string& profile) {
  return run_program({"calibrate", "--budget", "3s", "--ranks", "2", "--for",
                      kServedModel + "," + config("jobs/quickstart.json") + ",vllm-trial", "--out",
                      profile});
}

ProgramResult serve(const std::string& profile, const std::string& prompts, const std::string& out,
                    const std::string& mode = "aggregated",
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{
      "serve",      "--model", kServedModel, "--cluster",     profile, "--engine",
      "vllm-trial", "--isl",   "48",         "--osl",         "12",    "--concurrency",
      "4",          "--gpus",  "2",          "--num-prompts", prompts, "--format",
      "json",       "--out",   out,          "--mode",        mode};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

// One replica of two stages.
const std::vector<std::string> kTwoStages{"--tp", "1", "--pp", "2"};

// What the commands wrote and printed, from calibrate to validate.
struct ServedJob {
  Json trials, services;
  std::string validated;
};

ServedJob served_job(const TemporaryFolder& folder, const std::string& top,
                     const std::string& mode = "aggregated",
                     const std::vector<std::string>& more = {}) {
  const std::string profile = folder.path("profile.json"), plan = folder.path("serve.json");
  const std::string trials = folder.path("trials.json"),
                    validation = folder.path("validation.json");
  EXPECT_EQ(calibrate_for_service(profile).exit_code, 0);
  const ProgramResult planned = serve(profile, "8", plan, mode, more);
  EXPECT_EQ(planned.exit_code, 0) << planned.err;
  const ProgramResult tried = run_program({"trial", plan, "--top", top, "--out", trials});
  EXPECT_EQ(tried.exit_code, 0) << tried.err;
  EXPECT_THAT(tried.out, HasSubstr("as predicted"));
  // The default space on cores has only what the trial serves.
  EXPECT_THAT(tried.err, testing::Not(HasSubstr("skipping")));
  const ProgramResult validated = run_program({"validate", plan, trials, "--out", validation});
  EXPECT_EQ(validated.exit_code, 0) << validated.err;
  EXPECT_THAT(validated.err, HasSubstr("bytes      as predicted in " + top + " of " + top));
  const Json served = json_of(trials);
  EXPECT_EQ(served["observations"].size(), std::stoul(top));
  for (const Json& observation : served["observations"]) {
    EXPECT_EQ(observation["failure"], "");
    EXPECT_EQ(observation["ranks"], 2);
    EXPECT_EQ(observation["requests"].size(), 8U);
    EXPECT_EQ(observation["gap_rows"].size(), 8U * 11);
  }
  return {served, json_of(validation)["services"], validated.err};
}

TEST(ServeJob, ServesWhatWasPlannedAndComparesIt) {
  const TemporaryFolder folder;
  const ServedJob job = served_job(folder, "2");
  EXPECT_EQ(job.trials["schema"], "meshwright.serve_trials/1");
  EXPECT_EQ(job.services.size(), 2U);
  EXPECT_EQ(run_program({"validate", folder.path("serve.json"), folder.path("trials.json"),
                         "--max-error", "0.0001%"})
                .exit_code,
            1);
  const std::string page = folder.path("service.html");
  const ProgramResult reported = run_program(
      {"report", folder.path("serve.json"), "--trials", folder.path("trials.json"), "--out", page});
  ASSERT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_THAT(reported.out, HasSubstr("2 deployments ran on 2 cores, each with 8 requests."));
  EXPECT_THAT(content_of(page), HasSubstr("<section id=\"validation\">"));
  EXPECT_EQ(json_of(folder.path("service.report.json"))["validation"]["services"], job.services);
}

// One rank computes prompts, the other decodes.
TEST(ServeJob, RunsAPrefillAndADecodePool) {
  const TemporaryFolder folder;
  const ServedJob job = served_job(folder, "1", "disaggregated");
  const Json& observation = job.trials["observations"][0];
  EXPECT_EQ(observation["prefill"]["replicas"], 1);
  EXPECT_EQ(observation["handover_rows"].size(), 8U);
  EXPECT_THAT(job.validated, HasSubstr("hand-over  1 x tp1 + 1 x tp1"));
  EXPECT_EQ(job.services[0]["handovers"]["steps"], 8);
}

TEST(ServeJob, RunsPipelineStages) {
  const TemporaryFolder folder;
  const ServedJob job = served_job(folder, "1", "aggregated", kTwoStages);
  EXPECT_EQ(job.services[0]["name"], "1 x tp1 pp2");
}

// The first stage waits for tokens of the last, which is rank 1.
TEST(ServeJob, AStoppedStageEndsTheTrialWithItsName) {
  const TemporaryFolder folder;
  const std::string profile = folder.path("profile.json"), plan = folder.path("serve.json");
  const std::string trials = folder.path("trials.json");
  ASSERT_EQ(calibrate_for_service(profile).exit_code, 0);
  ASSERT_EQ(serve(profile, "4000", plan, "aggregated", kTwoStages).exit_code, 0);
  std::future<ProgramResult> trial = std::async(std::launch::async, [&] {
    return run_program({"trial", plan, "--top", "1", "--rank-timeout", "2s", "--out", trials});
  });
  int rank_one = 0;
  for (int i = 0; i < 3000 && rank_one == 0; ++i) {
    std::this_thread::sleep_for(100ms);
    rank_one = rank_one_of(plan);
  }
  ASSERT_NE(rank_one, 0);
  std::this_thread::sleep_for(1s);
  ASSERT_EQ(::kill(rank_one, SIGSTOP), 0);
  const ProgramResult ended = trial.get();
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("ended early: rank 1 on "));
}

TEST(ServeJob, AKilledRankEndsTheTrialWithItsName) {
  const TemporaryFolder folder;
  const std::string profile = folder.path("profile.json"), plan = folder.path("serve.json");
  const std::string trials = folder.path("trials.json");
  ASSERT_EQ(calibrate_for_service(profile).exit_code, 0);
  ASSERT_EQ(serve(profile, "4000", plan).exit_code, 0);
  std::future<ProgramResult> trial = std::async(std::launch::async, [&] {
    return run_program({"trial", plan, "--top", "1", "--out", trials});
  });
  int rank_one = 0;
  for (int i = 0; i < 3000 && rank_one == 0; ++i) {
    std::this_thread::sleep_for(100ms);
    rank_one = rank_one_of(plan);
  }
  ASSERT_NE(rank_one, 0);
  std::this_thread::sleep_for(1s);
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(rank_one, SIGKILL), 0);
  const ProgramResult ended = trial.get();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 25s);
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_THAT(ended.err, HasSubstr("rank 1"));
  EXPECT_THAT(ended.err, HasSubstr("signal 9"));
}

}  // namespace
}  // namespace meshwright::test
