// SPDX-License-Identifier: Apache-2.0
// Every answer says which question it answers, and no command answers another one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "app/files/files.h"
#include "calibrate/profile/profile_json.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::string kLlama8b = config("models/llama-3-8b.json");

ProgramResult run_with(std::vector<std::string> words, const std::vector<std::string>& more) {
  return run_program(with(std::move(words), more));
}

ProgramResult estimate_on(const std::string& cluster, const std::string& layout,
                          const std::vector<std::string>& more = {}) {
  return run_with({"estimate", "--model", kLlama8b, "--cluster", cluster, "--layout", layout},
                  more);
}

ProgramResult plan(const std::vector<std::string>& more) {
  return run_with({"plan", "--model", kLlama8b, "--cluster", "h100-8", "--ranking-only"}, more);
}

Json file_json(const std::string& path) {
  std::ifstream in(path);
  return Json::parse(in);
}

TEST(Question, EveryAnswerBeginsWithItAndMarksDefaults) {
  const TemporaryFolder folder;
  const std::string file = folder.path("plan.json");
  const std::vector<std::string> lines{
      "llama-3-8b on ", "8 x ", "(default)",
      "8,192 tokens per sequence, 512 sequences per step (default), bf16 (default)"};
  const std::vector<ProgramResult> answers{
      plan({"--seq-length", "8192", "--out", file}),
      estimate_on("h100-8", "tp=2,sp,zero=1,recompute=full", {"--seq-length", "8192"}),
      run_program({"volume", "--model", kLlama8b, "--cluster", "h100-8", "--layout", "tp=2",
                   "--seq-length", "8192"}),
      run_program({"explain", file, "--layout", "2"})};
  for (const ProgramResult& answer : answers) {
    EXPECT_EQ(answer.exit_code, 0) << answer.err;
    for (const std::string& line : lines) EXPECT_THAT(answer.out.substr(0, 1'200), HasSubstr(line));
  }
  EXPECT_THAT(file_json(file)["defaults"], Not(testing::Contains(Json("seq_length"))));
  EXPECT_THAT(file_json(file)["defaults"], testing::Contains(Json("global_batch_size")));
}

// Observations of the plan's winner that say which plan they are of.
std::string trials_of(const TemporaryFolder& folder, const std::string& plan_file,
                      const std::string& sha256) {
  const Json winner = file_json(plan_file)["ranked"][0];
  const Json observation{{"layout", winner["layout"]},
                         {"run_layers", 0},
                         {"ranks", 8},
                         {"steps", 5},
                         {"step_time_seconds", winner["step_time_seconds"]},
                         {"terms", Json::array({{{"name", "optimizer"}, {"seconds", 0.01}}})}};
  const Json trials{{"schema", "meshwright.trials/1"},
                    {"tool_version", "0.1.0"},
                    {"command", "meshwright trial"},
                    {"inputs", {{{"name", "plan"}, {"file", "toy.json"}, {"sha256", sha256}}}},
                    {"plan", {{"file", "toy.json"}}},
                    {"observations", {observation}}};
  return folder.write("trials.json", trials.dump());
}

TEST(Question, HowFastTheHostIsIsAskedOfThePlansOwnProfile) {
  const TemporaryFolder folder;
  const std::string file = folder.path("plan.json");
  ASSERT_EQ(plan({"--out", file}).exit_code, 0);
  calibrate::Profile other;
  other.cluster = app::load_cluster(config("clusters/h100-8.json"));
  other.cluster.device.name = "another device";
  other.machine = {.host = "h", .cpu = "c", .cores = 2, .memory = gibibytes(8), .kernel = "k"};
  const std::string profile = folder.write("profile.json", calibrate::to_json(other).dump());
  const ProgramResult refused =
      run_program({"trial", file, "--backend", "cpu", "--profile", profile});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("/cluster/device/name"));
  EXPECT_THAT(refused.err, HasSubstr("\"another device\" is not the plan's device"));
}

TEST(Question, AProfileIsCalledByItsMachine) {
  const TemporaryFolder folder;
  calibrate::Profile measured;
  measured.cluster = app::load_cluster(config("clusters/h100-8.json"));
  measured.cluster.name = "node1";
  measured.cluster.device.kind = DeviceKind::cpu;
  measured.not_measured = {"products in fp16"};
  measured.machine = {
      .host = "node1", .cpu = "EPYC", .cores = 8, .memory = gibibytes(8), .kernel = "k"};
  const std::string profile = folder.write("profile.json", calibrate::to_json(measured).dump());
  const std::string file = folder.path("plan.json");
  const ProgramResult plan =
      run_program({"plan", "--model", kLlama8b, "--cluster", profile, "--out", file});
  EXPECT_EQ(plan.exit_code, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("llama-3-8b on EPYC (host node1): 8 x "));
  EXPECT_THAT(plan.out, HasSubstr("fastest layouts of 8 cores"));
  EXPECT_THAT(plan.out, HasSubstr("Not measured on EPYC (host node1)"));
  EXPECT_THAT(plan.out, Not(HasSubstr(profile)));
  const std::string page = folder.path("page.html");
  ASSERT_EQ(run_program({"report", file, "--out", page}).exit_code, 0);
  EXPECT_THAT(file_json(folder.path("page.report.json"))["verdict"].get<std::string>(),
              HasSubstr("cores of EPYC (host node1) "));
}

TEST(Question, TrialsOfAnotherPlanAreRefusedUnlessForcedAndThenSaidEverywhere) {
  const TemporaryFolder folder;
  const std::string file = folder.path("plan.json");
  ASSERT_EQ(plan({"--out", file}).exit_code, 0);
  const std::string trials = trials_of(folder, file, std::string(64, 'a'));
  const std::string page = folder.path("r.html");
  const std::string refit = folder.path("refit.json");
  for (const auto& command :
       std::vector<std::vector<std::string>>{{"validate", file, trials},
                                             {"validate", file, trials, "--refit-out", refit},
                                             {"report", file, "--trials", trials, "--out", page}}) {
    const ProgramResult refused = run_program(command);
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_THAT(refused.err, HasSubstr("another plan"));
    EXPECT_THAT(refused.err, HasSubstr("--force"));
  }
  EXPECT_FALSE(fs::exists(page));
  EXPECT_FALSE(fs::exists(refit));

  const std::string caution = "CAUTION, forced: trials of another plan";
  const ProgramResult text = run_program({"validate", file, trials, "--force"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_TRUE(text.out.starts_with(caution)) << text.out;
  const ProgramResult document =
      run_program({"validate", file, trials, "--force", "--format", "json"});
  EXPECT_THAT(Json::parse(document.out)["caution"].get<std::string>(), HasSubstr(caution));
  const ProgramResult reported =
      run_program({"report", file, "--trials", trials, "--out", page, "--force"});
  EXPECT_EQ(reported.exit_code, 0) << reported.err;
  EXPECT_TRUE(reported.out.starts_with(caution)) << reported.out;
  EXPECT_THAT(file_json(folder.path("r.report.json"))["verdict"].get<std::string>(),
              HasSubstr(caution));
  std::ifstream in(page);
  EXPECT_THAT((std::string{std::istreambuf_iterator<char>(in), {}}), HasSubstr(caution));
}

TEST(Question, TrialsThatDoNotSayTheirPlanAreComparedWithACaution) {
  const TemporaryFolder folder;
  const std::string file = folder.path("plan.json");
  ASSERT_EQ(plan({"--out", file}).exit_code, 0);
  Json trials = file_json(trials_of(folder, file, std::string(64, 'a')));
  trials.erase("inputs");
  const std::string unsaid = folder.write("unsaid.json", trials.dump());
  const ProgramResult text = run_program({"validate", file, unsaid});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("does not state which plan"));
}

}  // namespace
}  // namespace meshwright::test
