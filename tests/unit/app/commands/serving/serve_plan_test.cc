// SPDX-License-Identifier: Apache-2.0
// Records of `serve` and its sub-commands: their schemas, what they hold, and that they are read
// back. What is printed and refused: cases/serve.txt.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reports/records/serving_answer.h"
#include "reports/records/serving_backtest.h"
#include "reports/records/serving_plan.h"
#include "reports/records/serving_trace.h"
#include "sim/base/text.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright {
namespace {

using test::run_program;
using test::TemporaryFolder;
using test::with;

const std::vector<std::string> kPlan = split_words(
    "serve --model llama-3-70b --cluster h100-512 --weights fp8 --kv-cache "
    "fp8 --isl 4000 --osl 1000 --rate 20");
const std::vector<std::string> kSimulate =
    split_words("serve simulate --model llama-3-8b --cluster h100-8 --isl 500 --osl 100");

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

// Four prompts of 64 tokens in 20 blocks of 16, with answers of 40: the third and fourth are
// preempted. The third finds its 96 tokens again (docs/reference/model/serving.md, Simulation).
// Twins of 64 share all blocks but the last, which is computed. The higher priority number is
// preempted.
TEST(ServeSimulate, TracesEachStep) {
  const TemporaryFolder folder;
  const std::string trace = folder.path("steps.json");
  const auto steps_of = [&](const std::string& rows, const std::vector<std::string>& more) {
    const std::string load =
        folder.write("load.csv", "arrival_s,input_tokens,output_tokens,priority,prompt\n" + rows);
    const auto result = run_program(
        with({"serve", "simulate", "--model", "llama-3-8b", "--cluster", "h100-8", "--arrivals",
              load, "--step-time", "1s", "--no-async-scheduling", "--trace", trace},
             more));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    const Json file = Json::parse(test::content_of(trace));
    EXPECT_EQ(test::complaint_of(reports::serving_trace_record().schema("serve trace"), file), "");
    return file.at("steps");
  };
  const std::string four = "0,64,40,0,\n0,64,40,0,\n0,64,40,0,\n0,64,40,0,\n";
  const Json steps = steps_of(four, {"--num-gpu-blocks-override", "21"});
  ASSERT_EQ(steps.size(), 63U);
  EXPECT_EQ(steps[17]["preempted"], Json::parse("[3]"));
  EXPECT_EQ(steps[33]["preempted"], Json::parse("[2]"));
  EXPECT_EQ(steps[40]["batch"],
            Json::parse(R"([{"request": 2, "tokens": 1}, {"request": 3, "tokens": 81}])"));
  EXPECT_EQ(steps[40]["cached"], Json::parse(R"([{"request": 2, "tokens": 96}])"));
  EXPECT_EQ(steps_of(four, {"--num-gpu-blocks-override", "21",
                            "--no-enable-prefix-caching"})[40]["batch"][0]["tokens"],
            97);
  const Json twins = steps_of("0,64,2,0,twin\n0,64,2,0,twin\n", {});
  EXPECT_EQ(twins[0]["batch"][1]["tokens"], 16);
  const Json numbers = steps_of("0,64,40,9,\n1,60,40,0,\n", {"--num-gpu-blocks-override", "11",
                                                             "--scheduling-policy", "priority"});
  EXPECT_EQ(numbers[17]["preempted"], Json::parse("[0]"));
  EXPECT_TRUE(numbers[17]["batch"].empty());
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

// Three configurations that took 1.3 of the predicted time, and a row about another GPU.
TEST(ServeLearn, CorrectsTheEngineAndNamesItsEvidence) {
  const TemporaryFolder folder;
  const std::string head =
      "id,model,gpu,engine,engine_version,precision,mode,tp,num_gpus,isl,osl,length_distribution,"
      "load,concurrency,num_prompts,tpot_mean_ms\n";
  const auto row = [](int users, const char* gpu, double tpot) {
    return fmt::format(
        "c{0},llama-3-8b,{1},vllm,0.32.0,bf16,agg,1,1,500,100,fixed,closed,{0},{2},"
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
  const std::vector<std::string> asked = split_words(
      "serve --model llama-3-8b --cluster h100-8 --isl 500 --osl 100 --rate "
      "20 --tpot 50ms --format json");
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

TEST(ServeEstimate, JsonObeysItsSchemaAndAddsUp) {
  const auto result = run_program(split_words(
      "serve estimate --model llama-3-70b --cluster h100-8 --engine vllm-0.24 --tp 8 --weights fp8 "
      "--batch 64 --format json"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_answer_record().schema("serve estimate"), answer),
            "");
  const Json& decode = answer["estimate"]["decode"];
  double sum = 0;
  for (const Json& term : decode["terms"]) sum += term["time_seconds"].get<double>();
  EXPECT_NEAR(sum, decode["time_seconds"].get<double>(), 1e-12);
  EXPECT_LT(decode["low_seconds"], decode["time_seconds"]);
  EXPECT_GT(decode["high_seconds"], decode["time_seconds"]);
  EXPECT_EQ(reports::serving_answer_record().write(
                reports::serving_answer_record().read(answer, "answer"))["engine"],
            answer["engine"]);
}

}  // namespace
}  // namespace meshwright
