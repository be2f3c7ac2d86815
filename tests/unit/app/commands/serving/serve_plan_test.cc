// SPDX-License-Identifier: Apache-2.0
// meshwright serve, serve simulate and serve backtest through the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/records/serving_backtest.h"
#include "reports/records/serving_plan.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright {
namespace {

using test::run_program;
using test::TemporaryFolder;
using test::with;

const std::vector<std::string> kPlan{"serve",     "--model", "llama-3-70b", "--cluster", "h100-512",
                                     "--weights", "fp8",     "--kv-cache",  "fp8",       "--isl",
                                     "4000",      "--osl",   "1000",        "--rate",    "20"};
const std::vector<std::string> kSimulate{"serve",  "simulate", "--model", "llama-3-8b", "--cluster",
                                         "h100-8", "--isl",    "500",     "--osl",      "100"};

TEST(ServePlan, AnswersWithDeploymentsMoneyAndFront) {
  const auto result =
      run_program(with(kPlan, {"--ttft", "2s", "--tpot", "50ms", "--mode", "both"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word :
       {"deployments", "tok/s/GPU", "USD/M output", "all kWh/M output", "users"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
  }
}

TEST(ServePlan, AnswersAtThePercentile) {
  const auto result =
      run_program(with(kPlan, {"--tpot", "50ms", "--percentile", "p90", "--num-prompts", "100"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* words : {": p90 TTFT ", ", p90 TPOT ", "mean TTFT"}) {
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  }
}

TEST(ServePlan, JsonObeysItsSchema) {
  const auto result = run_program(
      with(kPlan, {"--tpot", "50ms", "--percentile", "p99", "--what-if", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_plan_record().schema("serve"), answer), "");
  ASSERT_FALSE(answer["choices"].empty());
  EXPECT_TRUE(answer["choices"][0]["meets_limits"].get<bool>());
  EXPECT_LE(answer["choices"][0]["tpot_at_percentile_seconds"].get<double>(), 0.05);
  EXPECT_GT(answer["what_ifs"].size(), 5U);
  EXPECT_EQ(answer["what_ifs"][0]["change"], "as asked");
  EXPECT_EQ(answer["what_ifs"][0]["gpus"], answer["choices"][0]["gpus"]);
}

// A trial reads model, cluster, engine and load back as they were asked.
TEST(ServePlan, IsReadAsItIsWritten) {
  const auto result = run_program(
      with(kPlan, {"--random-range-ratio", "0.5", "--num-prompts", "40", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json written = Json::parse(result.out);
  const reports::ServingPlanFile plan = reports::serving_plan_record().read(written, "plan");
  EXPECT_EQ(plan.scenario.model.name, "llama-3-70b");
  EXPECT_FALSE(plan.scenario.cluster.inference.decode_attention.empty());
  EXPECT_EQ(plan.load.num_requests, 40);
  ASSERT_FALSE(plan.plan.choices.empty());
  EXPECT_EQ(planner::short_name(plan.plan.choices[0].deployment),
            written["choices"][0]["deployment"]["name"]);
  EXPECT_EQ(Json::parse(reports::serving_plan_record().write(plan).dump()), written);
}

TEST(ServePlan, JsonHasWhatAPageShows) {
  const auto result = run_program(
      with(kPlan, {"--tpot", "50ms", "--num-prompts", "100", "--what-if", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  const Json& details = answer["details"];
  EXPECT_GT(details["loads"].size(), 5U);
  EXPECT_GT(details["pools"][0]["memory"]["kv_cache_bytes"].get<double>(), 0.0);
  EXPECT_EQ(details["pools"][0]["steps"].size(), 2U);
  EXPECT_GT(details["energy"]["kwh_million_input_tokens"]["value"].get<double>(), 0.0);
  EXPECT_LT(details["smaller"]["gpus"], answer["choices"][0]["gpus"]);
  // 4,000 + 1,000 tokens: a million output tokens come with 4 million input tokens.
  const auto kwh = [](const Json& of, const char* key) { return of[key]["value"].get<double>(); };
  const double total = kwh(answer["choices"][0], "total_kwh_million_output_tokens");
  const double input = kwh(details["energy"], "kwh_million_input_tokens");
  EXPECT_NEAR(kwh(details["energy"], "kwh_million_output_tokens") + 4.0 * input, total,
              1e-9 * total);
  ASSERT_EQ(answer["launch"].size(), 3U);
  EXPECT_NE(answer["launch"][0]["text"].get<std::string>().find("vllm serve"), std::string::npos);
  std::vector<std::string> changes;
  for (const Json& one : answer["what_ifs"]) changes.push_back(one["change"].get<std::string>());
  EXPECT_NE(std::find(changes.begin(), changes.end(), "engine vllm-0.19"), changes.end());
  EXPECT_EQ(std::find(changes.begin(), changes.end(), "engine vllm-trial"), changes.end());
  // The formats are asked for already.
  EXPECT_EQ(std::find(changes.begin(), changes.end(), "fp8 weights"), changes.end());
}

// The launch files of a page name the checkpoint, without a file of their own.
TEST(ServePlan, CheckpointIsNamedInTheLaunchFiles) {
  const std::vector<std::string> named =
      with(kPlan, {"--num-prompts", "100", "--checkpoint", "acme/llama-70b-fp8"});
  const auto result = run_program(with(named, {"--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_NE(answer["launch"][0]["text"].get<std::string>().find("acme/llama-70b-fp8"),
            std::string::npos);
  const auto refused = run_program(named);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("--checkpoint"), std::string::npos) << refused.err;
}

TEST(ServeReport, WritesAPageWithItsRecord) {
  const TemporaryFolder folder;
  const std::string plan = folder.path("plan.json"), page = folder.path("page.html");
  const auto served = run_program(
      with(kPlan, {"--tpot", "50ms", "--num-prompts", "100", "--format", "json", "--out", plan}));
  ASSERT_EQ(served.exit_code, 0) << served.err;
  const auto result = run_program({"report", plan, "--out", page});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json record = Json::parse(test::content_of(folder.path("page.report.json")));
  EXPECT_EQ(record, Json::parse(test::content_of(plan)));
  EXPECT_NE(result.out.find(record["verdict"].get<std::string>()), std::string::npos) << result.out;
  EXPECT_NE(test::content_of(page).find("<section id=\"latency\">"), std::string::npos);
}

TEST(ServeReport, RefusesSeveralClustersAndBrokenPlans) {
  const TemporaryFolder folder;
  const std::string one = R"({"schema": "meshwright.serve_plan/1"})";
  const std::string several = folder.write("several.json", "[" + one + "," + one + "]");
  const auto refused = [&](const std::vector<std::string>& arguments, const char* words) {
    const auto result = run_program(arguments);
    EXPECT_EQ(result.exit_code, 2) << result.err;
    EXPECT_NE(result.err.find(words), std::string::npos) << result.err;
  };
  const std::string page = folder.path("page.html");
  refused({"report", several, "--out", page}, "has 2 service plans; expected one");
  const std::string single = folder.write("single.json", one);
  refused({"report", single, "--out", page}, "/scenario");
}

TEST(ServePlan, LimitsThatNothingMeetsAreAnAnswer) {
  const auto result = run_program(with(kPlan, {"--tpot", "1ms"}));
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.out.find("No deployment meets the limits."), std::string::npos) << result.out;
  EXPECT_NE(result.out.find("The nearest is"), std::string::npos) << result.out;
}

TEST(ServeSimulate, AnswersWithPercentiles) {
  const auto result = run_program(with(kSimulate, {"--concurrency", "16", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(
      test::complaint_of(reports::serving_simulation_record().schema("serve simulate"), answer),
      "");
  EXPECT_EQ(answer["metrics"]["requests"], 160);
  EXPECT_LE(answer["metrics"]["ttft"]["p50_seconds"], answer["metrics"]["ttft"]["p99_seconds"]);
}

TEST(ServeSimulate, ReadsArrivalsAndLengths) {
  const TemporaryFolder folder;
  const std::string arrivals = folder.write(
      "arrivals.csv", "arrival_s,input_tokens,output_tokens\n0,100,10\n0.5,200,20\n0.5,300,1\n");
  const auto result = run_program(with(kSimulate, {"--arrivals", arrivals}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("3 requests"), std::string::npos) << result.out;
}

TEST(ServeBacktest, ReadsATableOfPoints) {
  const TemporaryFolder folder;
  const std::string points = folder.write(
      "points.csv",
      "id,model,gpu,engine,engine_version,precision,mode,tp,num_gpus,isl,osl,length_distribution,"
      "load,concurrency,ttft_mean_ms,tpot_mean_ms,group\n"
      "a,llama-3-70b,h100,vllm,0.12.0,fp8,agg,4,4,1024,1024,uniform "
      "0.8-1.0,closed,64,256.4,19.5,g\n"
      "b,llama-3-70b,tpu9,vllm,0.12.0,fp8,agg,4,4,1024,1024,fixed,closed,64,256,19,g\n");
  const auto result = run_program({"serve", "backtest", points, "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_backtest_record().schema("serve backtest"), answer),
            "");
  ASSERT_EQ(answer["points"].size(), 1U);
  EXPECT_NEAR(answer["points"][0]["predicted"]["tpot_mean"].get<double>(), 0.0195, 0.004);
  ASSERT_EQ(answer["unread"].size(), 1U);
  EXPECT_NE(result.err.find("no cluster of GPU \"tpu9\""), std::string::npos) << result.err;
}

// The result names model, GPU, engine, format and --tp (metadata): nothing is stated beside it.
TEST(ServeBacktest, ReadsAResultOfVllm) {
  const TemporaryFolder folder;
  const std::string out = folder.path("points.csv");
  const auto result = run_program(
      {"serve", "backtest",
       std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/fuzz/corpus/serving_result/vllm.json",
       "--points-out", out, "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_backtest_record().schema("serve backtest"), answer),
            "");
  ASSERT_EQ(answer["points"].size(), 1U);
  EXPECT_EQ(answer["points"][0]["concurrency"], 64);
  EXPECT_NEAR(answer["points"][0]["measured"]["ttft_mean"].get<double>(), 0.4205, 1e-9);
  const auto again = run_program({"serve", "backtest", out, "--format", "json"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(Json::parse(again.out)["points"][0]["predicted"], answer["points"][0]["predicted"]);
}

TEST(ServeBacktest, SaysWhichOptionAResultLacks) {
  const TemporaryFolder folder;
  const std::string file = folder.write(
      "result.json",
      R"({"model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 40, "completed": 40,
          "request_rate": "inf", "max_concurrency": 4, "total_input_tokens": 4000,
          "total_output_tokens": 4000, "output_throughput": 400, "mean_tpot_ms": 9})");
  const std::vector<std::string> asked{"serve", "backtest", file};
  EXPECT_NE(run_program(asked).err.find("use --engine"), std::string::npos);
  const auto result =
      run_program(with(asked, {"--engine", "vllm-0.19", "--cluster", "h100-8", "--weights", "bf16",
                               "--tp", "1", "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["points"].size(), 1U);
}

// The cache that vLLM printed, beside the predicted one.
TEST(ServeBacktest, ComparesTheCacheOfAnEngineLog) {
  const auto result = run_program(
      {"serve", "backtest",
       std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/fuzz/corpus/serving_result/vllm.log",
       "--cluster", "h100-8", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json point = Json::parse(result.out)["points"][0];
  EXPECT_EQ(point["measured"]["kv_tokens"], 1e6);
  EXPECT_GT(point["predicted"]["kv_tokens"].get<double>(), 0.0);
}

// Three configurations that took 1.3 of the predicted time, and a row about another GPU.
TEST(ServeLearn, CorrectsTheEngineAndNamesItsEvidence) {
  const TemporaryFolder folder;
  const std::string head =
      "id,model,gpu,engine,engine_version,precision,mode,tp,num_gpus,isl,osl,length_distribution,"
      "load,concurrency,num_prompts,tpot_mean_ms\n";
  const auto row = [](int users, const char* gpu, double tpot) {
    return fmt::format(
        "c{0},llama-3-8b,{1},vllm,0.24.0,bf16,agg,1,1,500,100,fixed,closed,{0},{2},"
        "{3}\n",
        users, gpu, 4 * users, tpot);
  };
  const std::string first =
      folder.write("said.csv", head + row(4, "h100", 9) + row(8, "h100", 9) + row(16, "h100", 9));
  const auto said = run_program({"serve", "backtest", first, "--format", "json"});
  ASSERT_EQ(said.exit_code, 0) << said.err;
  std::string rows = head;
  const Json predicted = Json::parse(said.out);
  for (const Json& point : predicted["points"]) {
    rows += row(static_cast<int>(point["concurrency"].get<double>()), "h100",
                1.3e3 * point["predicted"]["tpot_mean"].get<double>());
  }
  const std::string results = folder.write("results.csv", rows + row(4, "a100", 9));
  const std::vector<std::string> asked{"serve", "--model", "llama-3-8b", "--cluster", "h100-8",
                                       "--isl", "500",     "--osl",      "100",       "--rate",
                                       "20",    "--tpot",  "50ms",       "--format",  "json"};
  const auto plain = run_program(asked);
  const auto result = run_program(with(asked, {"--learn", results}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out), before = Json::parse(plain.out);
  EXPECT_EQ(test::complaint_of(reports::serving_plan_record().schema("serve"), answer), "");
  const Json& learning = answer["learning"];
  // 3 / (3 + 0.45 / 0.55) of ln 1.3.
  EXPECT_NEAR(std::log(learning["factor"].get<double>()), 0.786 * std::log(1.3), 0.02);
  EXPECT_EQ(learning["configurations"], 3);
  ASSERT_EQ(learning["left_out"].size(), 1U);
  EXPECT_NE(learning["left_out"][0]["reason"].get<std::string>().find("a100"), std::string::npos);
  EXPECT_EQ(answer["scenario"]["engine"]["learnt"]["factor"], learning["factor"]);
  EXPECT_LT(answer["choices"][0]["token_spread"], before["choices"][0]["token_spread"]);
  EXPECT_NE(result.err.find("Learnt from 3 configurations"), std::string::npos) << result.err;
  const reports::ServingPlanFile read = reports::serving_plan_record().read(answer, "plan");
  EXPECT_EQ(Json::parse(reports::serving_plan_record().write(read).dump()), answer);
}

// A client's result says no layout: the launch that was measured does.
TEST(ServeLearn, TakesTheServiceFromItsLaunch) {
  const TemporaryFolder folder;
  const std::string launch =
      folder.write("serve.sh",
                   "docker run vllm/vllm-openai:v0.24.0 --model meta-llama/Llama-3.1-8B-Instruct "
                   "--tensor-parallel-size 1\n");
  const std::string file = folder.write(
      "result.json",
      R"({"model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 40, "completed": 40,
          "request_rate": "inf", "max_concurrency": 4, "total_input_tokens": 4000,
          "total_output_tokens": 4000, "output_throughput": 400, "mean_tpot_ms": 9})");
  const std::vector<std::string> asked{
      "serve", "--model", "llama-3.1-8b", "--cluster", "h100-8",  "--isl", "100",
      "--osl", "100",     "--rate",       "10",        "--learn", file};
  EXPECT_NE(run_program(asked).err.find("no tensor-parallel size: use --tp"), std::string::npos);
  EXPECT_EQ(run_program(with(asked, {"--tp", "1"})).exit_code, 0);
  const auto result = run_program(with(asked, {"--learn-launch", launch, "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(Json::parse(result.out)["learning"]["configurations"], 1);
}

struct Refused {
  std::vector<std::string> more;
  const char* says;
};
class ServeBadInput : public testing::TestWithParam<Refused> {};

TEST_P(ServeBadInput, IsOneClearSentence) {
  const auto result = run_program(GetParam().more);
  EXPECT_EQ(result.exit_code, 2) << result.out << result.err;
  EXPECT_NE(result.err.find(GetParam().says), std::string::npos) << result.err;
}

INSTANTIATE_TEST_SUITE_P(
    Serve, ServeBadInput,
    testing::Values(Refused{{"serve", "--cluster", "h100-8", "--rate", "1"}, "--model: is missing"},
                    Refused{{"serve", "--model", "llama-3-8b", "--cluster", "h100-8"},
                            "got neither --rate nor --concurrency"},
                    Refused{with(kPlan, {"--tpot", "50"}),
                            "--tpot: must be a time above 0 (got \"50\""},
                    Refused{with(kPlan, {"--percentile", "p100"}), "must be above 0 and below 100"},
                    Refused{with(kPlan, {"--percentile", "p99.9", "--num-prompts", "100"}),
                            "is past what 100 requests tell"},
                    Refused{{"serve", "--model", "llama-3-8b", "--cluster", "h100-8,h100-512",
                             "--rate", "1", "--learn", "results.csv"},
                            "--learn: is about one machine"},
                    Refused{with(kPlan, {"--mode", "split"}), "unknown mode \"split\""},
                    Refused{with(kPlan, {"--gpus", "8", "--find-gpus"}), "excludes --gpus"},
                    Refused{with(kSimulate, {"--rate", "100000"}), "is unstable above"}));

TEST(ServeBadFiles, AreRefusedWithTheirLine) {
  const TemporaryFolder folder;
  const auto says = [&](const char* option, const std::string& content) {
    const std::string file = folder.write("table.csv", content);
    std::vector<std::string> words = with(kSimulate, {option, file});
    if (std::string(option) == "--lengths") {
      words = {"serve",  "simulate",  "--model", "llama-3-8b", "--cluster",
               "h100-8", "--lengths", file,      "--rate",     "1"};
    }
    const auto result = run_program(words);
    EXPECT_EQ(result.exit_code, 2) << result.out;
    return result.err;
  };
  EXPECT_NE(says("--arrivals", "arrival_s\n").find("holds no arrivals"), std::string::npos);
  EXPECT_NE(says("--arrivals", "arrival_s\n2\n1\n").find("arrival_s 1 comes before the 2"),
            std::string::npos);
  EXPECT_NE(says("--lengths", "input_tokens,output_tokens\n5,0\n")
                .find("output_tokens must be a whole number of tokens above 0 (got \"0\")"),
            std::string::npos);
}

}  // namespace
}  // namespace meshwright
