// SPDX-License-Identifier: Apache-2.0
// The program's commands as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

const std::vector<std::string> kCommands{"backtest", "calibrate", "cluster", "estimate",
                                         "explain",  "import",    "plan",    "report",
                                         "trial",    "validate",  "volume"};

TEST(Commands, HelpListsEachCommandAndTheExitCodes) {
  const ProgramResult result = run_program({"--help"});
  EXPECT_EQ(result.exit_code, 0);
  for (const std::string& command : kCommands) EXPECT_THAT(result.out, HasSubstr(command));
  EXPECT_THAT(result.out, HasSubstr("Exit codes"));
}

TEST(Commands, EachCommandExplainsItself) {
  for (const std::string& command : kCommands) {
    const ProgramResult result = run_program({command, "--help"});
    EXPECT_EQ(result.exit_code, 0) << command;
    EXPECT_THAT(result.out, HasSubstr("Usage:")) << command;
  }
}

TEST(Commands, VersionListsTheBackends) {
  const ProgramResult result = run_program({"--version"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.out, HasSubstr("meshwright "));
  EXPECT_THAT(result.out, HasSubstr("cpu"));
}

TEST(Commands, VolumePrintsTheThreePublishedOrders) {
  // GPT-3: h^2 l = 12288^2 * 96 = 14495514624 elements.
  const ProgramResult result = run_program({"volume", "--model", config("models/gpt3-175b.json"),
                                            "--layout", "tp=8,pp=8,dp=1,sp", "--seq-length", "2048",
                                            "--global-batch-size", "64", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["published_orders"]["data_parallel_elements"], 14495514624.0);
}

TEST(Commands, EstimatesOfTheSameInputAreTheSameBytes) {
  const std::vector<std::string> arguments{"estimate",
                                           "--model",
                                           config("models/llama-3-8b.json"),
                                           "--cluster",
                                           config("clusters/h100-8.json"),
                                           "--layout",
                                           "tp=2,dp=4,sp,zero=1",
                                           "--format",
                                           "json"};
  const ProgramResult first = run_program(arguments);
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out, run_program(arguments).out);
}

TEST(Commands, EstimateWritesTheStepAsATrace) {
  const TemporaryFolder folder;
  const ProgramResult result =
      run_program({"estimate", "--model", config("models/llama-3-8b.json"), "--cluster",
                   config("clusters/h100-8.json"), "--layout",
                   "tp=2,pp=2,dp=2,sp,zero=1,recompute=full", "--trace", folder.path("step.json")});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  std::ifstream in(folder.path("step.json"));
  const auto trace = nlohmann::json::parse(in);
  EXPECT_GT(trace["traceEvents"].size(), 100U);
  EXPECT_EQ(trace["otherData"]["tool_version"], "0.1.0");
}

TEST(Commands, ReportComparesTwoRecords) {
  const TemporaryFolder folder;
  for (const std::string batch : {"64", "128"}) {
    const ProgramResult plan =
        run_program({"plan", "--model", config("models/llama-3-8b.json"), "--cluster",
                     config("clusters/h100-8.json"), "--global-batch-size", batch, "--out",
                     folder.path("p.json")});
    ASSERT_EQ(plan.exit_code, 0) << plan.err;
    const ProgramResult report =
        run_program({"report", folder.path("p.json"), "--out", folder.path("r" + batch + ".html")});
    ASSERT_EQ(report.exit_code, 0) << report.err;
  }
  const ProgramResult result =
      run_program({"report", "--compare", folder.path("r64.json"), folder.path("r128.json"),
                   "--out", folder.path("both.html"), "--format", "markdown"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("| /job/global_batch_size | 64 | 128 |"));
  const ProgramResult refused =
      run_program({"report", "--compare", folder.path("p.json"), folder.path("r128.json"), "--out",
                   folder.path("x.html")});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("meshwright.report/1"));
}

TEST(Commands, PlanForLlama70bOn512H100NamesAWinnerAndCountsRejections) {
  const ProgramResult result =
      run_program({"plan", "--model", config("models/llama-3-70b.json"), "--cluster",
                   config("clusters/h100-512.json"), "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
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
  const auto set = nlohmann::json::parse(result.out);
  ASSERT_EQ(set["runs"].size(), 4U);
  EXPECT_EQ(set["runs"][0]["measured"]["step_seconds"], 6.48);
  EXPECT_EQ(set["runs"][3]["measured"]["status"], "oom");
}

TEST(Commands, NothingFitsIsAnAnswerWithExitCodeOne) {
  const ProgramResult result = run_program({"plan", "--model", config("models/llama-3-405b.json"),
                                            "--cluster", config("clusters/h100-8.json")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out + result.err, HasSubstr("memory"));
}

TEST(Commands, ClusterListNamesEveryShippedCluster) {
  const ProgramResult result = run_program({"cluster", "list", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["schema"], "meshwright.cluster_list/1");
  EXPECT_GE(json["clusters"].size(), 20U);
}

TEST(Commands, ClusterShowDrawsTheTreeWithSpeedsAndSources) {
  const ProgramResult result =
      run_program({"cluster", "show", config("clusters/dgx-a100-80gb.json"), "--gpus", "64"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const std::string word :
       {"64 devices", "8 leaf switches", "25 GB/s each way", "300 GB/s each way", "datasheet",
        "fitted", "Source: ", "Bisection: 800 GB/s", "tensor", "data"}) {
    EXPECT_THAT(result.out, HasSubstr(word));
  }
}

TEST(Commands, ClusterShowPlacesTheGroupsThatAreNamed) {
  // 8 nodes, tensor 16 on two nodes each, data over the 4 pairs: a NIC a rank.
  const ProgramResult result =
      run_program({"cluster", "show", config("clusters/dgx-a100-80gb.json"), "--gpus", "64",
                   "--group", "tensor=16", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["groups"].size(), 2U);
  EXPECT_EQ(json["groups"][0]["num_nodes"], 2);
  EXPECT_EQ(json["groups"][0]["num_groups"], 4);
  // 8 NICs of 25 GB/s at 96 %: 192 GB/s; one NIC for a data group: 24.
  EXPECT_NEAR(json["groups"][0]["together_bytes_per_second"].get<double>(), 192e9, 1e6);
  EXPECT_NEAR(json["groups"][1]["together_bytes_per_second"].get<double>(), 24e9, 1e6);
}

TEST(Commands, ClusterShowRefusesGroupsThatDoNotFit) {
  const std::string cluster = config("clusters/dgx-a100-80gb.json");
  const auto refused = [&](const std::string& group) {
    return run_program({"cluster", "show", cluster, "--gpus", "16", "--group", group});
  };
  EXPECT_EQ(refused("tensor=3").exit_code, 2);
  EXPECT_THAT(refused("tensr=8").err, HasSubstr("did you mean tensor"));
  EXPECT_EQ(refused("tensor=x").exit_code, 2);
  EXPECT_EQ(refused("tensor").exit_code, 2);
}

}  // namespace
}  // namespace meshwright::test
