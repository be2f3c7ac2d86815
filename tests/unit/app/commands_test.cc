// SPDX-License-Identifier: Apache-2.0
// The program's commands as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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
  const auto json = Json::parse(result.out);
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

TEST(Commands, AnEstimateThatDoesNotFitHasATimeAndSaysWhatFillsTheMemory) {
  std::vector<std::string> words{"estimate",
                                 "--model",
                                 config("models/llama-3-70b.json"),
                                 "--cluster",
                                 config("clusters/h100-8.json"),
                                 "--layout",
                                 "tp=8"};
  const ProgramResult result = run_program(words);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("Does not fit (memory_capacity)"));
  EXPECT_THAT(result.out, HasSubstr("s per step"));
  EXPECT_THAT(result.out, HasSubstr("optimizer"));
  words.insert(words.end(), {"--format", "json"});
  const auto json = Json::parse(run_program(words).out);
  EXPECT_FALSE(json["verdict"]["fits"]);
  EXPECT_GT(json["verdict"]["needed_bytes"], json["verdict"]["available_bytes"]);
  EXPECT_GT(json["estimate"]["step_time_seconds"], 0.0);
}

// Sizes that a user types and the layout that plan ranks are priced alike: by the same overlaps.
TEST(Commands, EstimateOverlapsWhatThePlanOverlaps) {
  const std::vector<std::string> inputs{"--model",   config("models/llama-3-8b.json"),
                                        "--cluster", config("clusters/h100-8.json"),
                                        "--format",  "json"};
  const auto estimated = [&](const std::string& layout) {
    std::vector<std::string> words{"estimate", "--layout", layout};
    words.insert(words.end(), inputs.begin(), inputs.end());
    return Json::parse(run_program(words).out)["estimate"];
  };
  std::vector<std::string> words{"plan",
                                 "--ranking-only",
                                 "--tp",
                                 "2",
                                 "--pp",
                                 "1",
                                 "--mbs",
                                 "1",
                                 "--sp",
                                 "true",
                                 "--tp-overlap",
                                 "false",
                                 "--recompute",
                                 "full",
                                 "--recompute-layers",
                                 "0",
                                 "--zero",
                                 "1"};
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
      run_program({"estimate", "--model", config("models/llama-3-8b.json"), "--cluster",
                   config("clusters/h100-8.json"), "--layout",
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
        run_program({"plan", "--model", config("models/llama-3-8b.json"), "--cluster",
                     config("clusters/h100-8.json"), "--global-batch-size", batch, "--out",
                     folder.path("p.json")});
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
      run_program({"plan", "--model", config("models/llama-3-70b.json"), "--cluster",
                   config("clusters/h100-512.json"), "--format", "json"});
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

TEST(Commands, NothingFitsIsAnAnswerWithExitCodeOne) {
  const ProgramResult result = run_program({"plan", "--model", config("models/llama-3-405b.json"),
                                            "--cluster", config("clusters/h100-8.json")});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out + result.err, HasSubstr("memory"));
}

TEST(Commands, ClusterListNamesEveryShippedCluster) {
  const ProgramResult result = run_program({"cluster", "list", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
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
  const auto json = Json::parse(result.out);
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
  EXPECT_THAT(refused("tensr=8").err, HasSubstr("use tensor"));
  EXPECT_EQ(refused("tensor=x").exit_code, 2);
  EXPECT_EQ(refused("tensor").exit_code, 2);
}

// A plan of the small model on one node, for the commands that read plans.
std::string small_plan(const TemporaryFolder& folder, const std::string& name,
                       std::vector<std::string> more = {}) {
  const std::string file = folder.path(name);
  std::vector<std::string> arguments{"plan",
                                     "--model",
                                     config("models/llama-3-8b.json"),
                                     "--cluster",
                                     config("clusters/h100-8.json"),
                                     "--global-batch-size",
                                     "64",
                                     "--out",
                                     file};
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

TEST(Commands, AnUnknownObjectiveOrInputIsRefusedWithTheNames) {
  const std::vector<std::string> plan{"plan", "--model", config("models/llama-3-8b.json"),
                                      "--cluster", config("clusters/h100-8.json")};
  auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = plan;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  };
  const ProgramResult objective = with({"--objective", "speed"});
  EXPECT_EQ(objective.exit_code, 2);
  EXPECT_THAT(objective.err, HasSubstr("tokens_per_joule"));
  const ProgramResult what_if = with({"--what-if", "bandwidth=2x"});
  EXPECT_EQ(what_if.exit_code, 2);
  EXPECT_THAT(what_if.err, HasSubstr("inter_node_bandwidth"));
  EXPECT_EQ(with({"--max-step", "3GB"}).exit_code, 2);
  EXPECT_EQ(with({"--objective", "tokens_per_dollar"}).exit_code, 2);
}

TEST(Commands, AStepLimitThatNoLayoutMeetsIsExitCodeOneWithTheNearest) {
  const ProgramResult result =
      run_program({"plan", "--model", config("models/llama-3-8b.json"), "--cluster",
                   config("clusters/h100-8.json"), "--max-step", "1ms"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("the limit is 0.001 s"));
}

TEST(Commands, ExplainAnswersWhyNotInTheFormsThatAUserTypes) {
  const TemporaryFolder folder;
  const std::string plan = small_plan(folder, "plan.json");
  const auto explain = [&](const std::string& layout) {
    return run_program({"explain", plan, "--layout", layout});
  };
  const ProgramResult sizes = explain("tp=4");  // the rest is open
  EXPECT_EQ(sizes.exit_code, 0) << sizes.err;
  EXPECT_THAT(sizes.out, HasSubstr("layout #1"));
  EXPECT_THAT(sizes.out, HasSubstr("leaves the other fields open"));
  const ProgramResult printed = explain("tp4 dp2 mbs2 sp");
  EXPECT_EQ(printed.exit_code, 0) << printed.err;
  const ProgramResult rank = explain("2");
  EXPECT_EQ(rank.exit_code, 0) << rank.err;
  EXPECT_THAT(rank.out, HasSubstr("faster with probability"));
  EXPECT_EQ(explain("9999").exit_code, 2);
  const ProgramResult illegal = explain("tp=3,dp=1");
  EXPECT_EQ(illegal.exit_code, 1);
  const ProgramResult none = explain("tp=1,zero=0,mbs=64");
  EXPECT_EQ(none.exit_code, 1) << none.out;
  EXPECT_THAT(none.out, HasSubstr("rejected by"));
}

TEST(Commands, DiffOfAPlanWithItselfPassesAndASlowerOneFailsTheGate) {
  const TemporaryFolder folder;
  const std::string a = small_plan(folder, "a.json", {"--ranking-only"});
  const std::string b = small_plan(folder, "b.json", {"--ranking-only", "--seq-length", "8192"});
  const ProgramResult same = run_program({"diff", a, a, "--fail-if", "step_time>0%"});
  EXPECT_EQ(same.exit_code, 0) << same.err;
  EXPECT_THAT(same.out, HasSubstr("No input changed"));
  const ProgramResult longer = run_program({"diff", a, b, "--fail-if", "step_time>3%"});
  EXPECT_EQ(longer.exit_code, 1);
  EXPECT_THAT(longer.out, HasSubstr("/job/seq_length"));
  EXPECT_THAT(longer.err, HasSubstr("step_time>3%"));
  EXPECT_EQ(run_program({"diff", a, b, "--fail-if", "speed"}).exit_code, 2);
  const auto json = Json::parse(run_program({"diff", a, b, "--format", "json"}).out);
  EXPECT_EQ(json["schema"], "meshwright.diff/1");
  EXPECT_GT(json["step_time_change"].get<double>(), 0.03);
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
