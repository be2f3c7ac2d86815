// SPDX-License-Identifier: Apache-2.0
// The program's commands as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sim/base/text.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::vector<std::string> kCommands{"backtest",  "calibrate", "capacity", "cluster", "diff",
                                         "estimate",  "explain",   "import",   "model",   "plan",
                                         "reference", "report",    "review",   "schema",  "trial",
                                         "validate",  "volume"};

TEST(Commands, EstimatesOfTheSameInputAreTheSameBytes) {
  const std::vector<std::string> arguments = split_words(
      "estimate --model llama-3-8b --cluster h100-8 --layout "
      "tp=2,dp=4,sp,zero=1 --format json");
  const ProgramResult first = run_program(arguments);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, run_program(arguments).out);
}

// Sizes that a user types and the layout that plan ranks are priced alike: by the same overlaps.
TEST(Commands, EstimateOverlapsWhatThePlanOverlaps) {
  const std::vector<std::string> inputs =
      split_words("--model llama-3-8b --cluster h100-8 --format json");
  const auto estimated = [&](const std::string& layout) {
    std::vector<std::string> words{"estimate", "--layout", layout};
    words.insert(words.end(), inputs.begin(), inputs.end());
    return Json::parse(run_program(words).out)["estimate"];
  };
  std::vector<std::string> words = split_words(
      "plan --ranking-only --tp 2 --pp 1 --mbs 1 --sp true --tp-overlap false "
      "--recompute full --recompute-layers 0 --zero 1");
  words.insert(words.end(), inputs.begin(), inputs.end());
  const auto plan = Json::parse(run_program(words).out);
  const auto typed = estimated("tp2,sp,zero1,recompute=full");
  EXPECT_EQ(plan["ranked"][0]["layout"], typed["layout"]);
  EXPECT_EQ(plan["ranked"][0]["step_time_seconds"], typed["step_time_seconds"]);
  const auto apart = estimated("tp2,sp,zero1,recompute=full,overlap_grad_reduce=false");
  EXPECT_FALSE(apart["layout"]["overlap_param_gather"]);
}

TEST(Commands, EstimateWritesTheStepAsATrace) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"estimate", "--model", "llama-3-8b", "--cluster", "h100-8", "--layout",
                   "tp=2,pp=2,dp=2,sp,zero=1,recompute=full", "--trace", folder.path("step.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream in(folder.path("step.json"));
  const auto trace = Json::parse(in);
  EXPECT_GT(trace["traceEvents"].size(), 100U);
  EXPECT_EQ(trace["otherData"]["tool_version"], "0.2.0");
}

TEST(Commands, ReportComparesTwoRecords) {
  const TemporaryFolder folder;
  for (const std::string batch : {"64", "128"}) {
    const ProgramResult plan =
        run_program({"plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--global-batch-size",
                     batch, "--out", folder.path("p.json")});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const ProgramResult report =
        run_program({"report", folder.path("p.json"), "--out", folder.path("r" + batch + ".html")});
    ASSERT_EQ(report.exit_code, 0) << report.err;
  }
  const ProgramResult result = run_program({"report", "--compare", folder.path("r64.report.json"),
                                            folder.path("r128.report.json"), "--out",
                                            folder.path("both.html"), "--format", "markdown"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| job: global batch size | 64 | 128 |"));
  const ProgramResult refused =
      run_program({"report", "--compare", folder.path("p.json"), folder.path("r128.report.json"),
                   "--out", folder.path("x.html")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("meshwright.report/1"));
}

TEST(Commands, PlanForLlama70bOn512H100NamesAWinnerAndCountsRejections) {
  const ProgramResult result =
      run_program(split_words("plan --model llama-3-70b --cluster h100-512 --format json"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "meshwright.plan/1");
  ASSERT_FALSE(json["ranked"].empty());
  ASSERT_FALSE(json["rejections"].empty());
  std::int64_t rejected = 0;
  for (const auto& rejection : json["rejections"])
    rejected += rejection["count"].get<std::int64_t>();
  const auto& statistics = json["statistics"];
  EXPECT_EQ(statistics["enumerated"].get<std::int64_t>(),
            statistics["fitting"].get<std::int64_t>() + rejected);
}

TEST(Commands, ImportMakesATableIntoMeasuredRunsThatBacktestReads) {
  const ProgramResult result =
      run_program({"import", "measurements", config("datasets/example-runs.csv"), "--map",
                   config("datasets/example-map.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto set = Json::parse(result.out);
  ASSERT_EQ(set["runs"].size(), 4U);
  EXPECT_EQ(set["runs"][0]["measured"]["step_seconds"], 6.48);
  EXPECT_EQ(set["runs"][3]["measured"]["status"], "oom");
}

TEST(Commands, ClusterListNamesEveryShippedCluster) {
  const ProgramResult result = run_program({"cluster", "list", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json["schema"], "meshwright.cluster_list/1");
  EXPECT_GE(json["clusters"].size(), 20U);
}

TEST(Commands, ClusterShowPlacesTheGroupsThatAreNamed) {
  // 8 nodes, tensor 16 on two nodes each, data over the 4 pairs: a NIC a rank.
  const ProgramResult result = run_program(
      split_words("cluster show dgx-a100-80gb --gpus 64 --group tensor=16 --format json"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  ASSERT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["groups"][0]["num_nodes"], 2);
  EXPECT_EQ(json["groups"][0]["num_groups"], 4);
  // 8 NICs of 25 GB/s at 96 %: 192 GB/s; one NIC for a data group: 24.
  EXPECT_NEAR(json["groups"][0]["together_bytes_per_second"].get<double>(), 192e9, 1e6);
  EXPECT_NEAR(json["groups"][1]["together_bytes_per_second"].get<double>(), 24e9, 1e6);
}

// A plan of the small model on one node, for the commands that read plans.
std::string small_plan(const TemporaryFolder& folder, const std::string& name,
                       std::vector<std::string> more = {}) {
  const std::string file = folder.path(name);
  std::vector<std::string> arguments{"plan",      "--model", "llama-3-8b",
                                     "--cluster", "h100-8",  "--global-batch-size",
                                     "64",        "--out",   file};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ProgramResult result = run_program(arguments);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  return file;
}

TEST(Commands, PlanSaysHowSureItIsAndWhereItFlips) {
  const TemporaryFolder folder;
  const std::string file =
      small_plan(folder, "plan.json", {"--what-if", "intra_node_bandwidth=0.5x"});
  const auto json = Json::parse(file_text(file));
  const auto& answers = json["answers"];
  EXPECT_GT(answers["confidence"]["probability_best"].get<double>(), 0.0);
  EXPECT_FALSE(answers["sensitivity"].empty());
  EXPECT_EQ(answers["what_ifs"][0]["changes"][0]["factor"], 0.5);
  EXPECT_EQ(answers["objective"]["name"], "step_time");
  EXPECT_FALSE(answers["placement"]["axes"].empty());
}

TEST(Commands, SeveralGpuCountsAreComparedByTheObjective) {
  const TemporaryFolder folder;
  const std::string file = small_plan(
      folder, "plan.json", {"--gpus", "8,16", "--objective", "tokens_per_dollar", "--price", "2"});
  const auto json = Json::parse(file_text(file));
  const auto& scaling = json["answers"]["scaling"];
  ASSERT_EQ(scaling["points"].size(), 2U);
  const auto& best = scaling["points"][scaling["best"].get<std::size_t>()];
  EXPECT_EQ(best["gpus"].get<int>(), json["cluster"]["num_nodes"].get<int>() * 8);
}

// The largest of the shipped models on 2,048 GPUs once had a plan file of 7.7 MB. Readers compute
// the omitted parts again, also for a layout without its parts.
TEST(Commands, ALargePlanIsAFileBelowAMegabyteThatReadersTake) {
  const TemporaryFolder folder;
  const std::string plan = folder.path("p.json");
  const ProgramResult made = run_program({"plan", "--model", "deepseek-v3", "--cluster",
                                          "h800-2048", "--framework", "hai-llm-2024", "--precision",
                                          "fp8", "--global-batch-size", "15360", "--out", plan});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const std::string text = file_text(plan);
  EXPECT_LT(text.size(), 1'000'000U);
  const Json json = Json::parse(text);
  ASSERT_GT(json["ranked"].size(), 12U);
  EXPECT_FALSE(json["ranked"][11].contains("volume"));
  const ProgramResult explained = run_program({"explain", plan, "--layout", "12"});
  EXPECT_EQ(explained.exit_code, 0) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("layout #1"));
  const ProgramResult same = run_program({"diff", plan, plan});
  EXPECT_EQ(same.exit_code, 0) << same.err;
}

}  // namespace
}  // namespace meshwright::test
