// SPDX-License-Identifier: Apache-2.0
// plan --target: what a launcher can express, at its software's costs, and its file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "sim/base/text.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

std::vector<std::string> plan_words(const std::vector<std::string>& more) {
  std::vector<std::string> words = split_words(
      "plan --model llama-3-8b --cluster hgx-h100-400g --gpus 16 "
      "--ranking-only");
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// A framework that is named has the layouts that its launcher can express, and no others: what is
// not Megatron-LM's or accelerate's is rejected by a rule.
TEST(PlanTarget, AFrameworkRanksWhatItsLauncherCanExpress) {
  using Asked = std::pair<const char*, const char*>;
  for (const auto& [target, model] :
       {Asked{"Megatron-LM", "llama-3-70b"}, Asked{"Megatron-LM", "deepseek-v3"},
        Asked{"Megatron-LM", "qwen3-30b-a3b"}, Asked{"accelerate", "llama-3-8b"}}) {
    const ProgramResult result = run_program(
        {"plan", "--model", model, "--cluster", "h100-512", "--gpus", "256", "--ranking-only",
         "--target", target, "--optimizer-offload", "false,true", "--format", "json"});
    ASSERT_EQ(result.exit_code, 0) << result.err;
    const auto json = Json::parse(result.out);
    EXPECT_TRUE(json["not_expressible"].empty()) << target << json["not_expressible"].dump(1);
  }
}

// Its file is reviewed as the very layout that the plan put first.
TEST(PlanTarget, TheWinnersFileIsTheWinner) {
  const std::string file = testing::TempDir() + "winner.toml";
  const ProgramResult result =
      run_program(plan_words({"--target", "TorchTitan", "--launch-out", file, "--format", "json"}));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = Json::parse(result.out);
  EXPECT_EQ(json["search"]["target"], "torchtitan");
  EXPECT_EQ(json["cluster"]["framework"]["name"], "torchtitan-2025");
  ASSERT_FALSE(json["not_expressible"].empty());
  for (const auto& ranked : json["ranked"]) {
    const auto& layout = ranked["layout"];
    EXPECT_NE(layout["zero_stage"], 1);
    if (layout["tensor_parallel_size"] > 1) {
      EXPECT_EQ(layout["sequence_parallel"], true);
    }
  }
  const ProgramResult review =
      run_program({"review", "--from", file, "--model", "llama-3-8b", "--cluster", "hgx-h100-400g",
                   "--gpus", "16", "--json"});
  ASSERT_EQ(review.exit_code, 0) << review.err;
  const auto reviewed = Json::parse(review.out);
  const auto& winner = json["ranked"][0];
  EXPECT_EQ(reviewed["estimate"]["step_time_seconds"], winner["step_time_seconds"]);
  EXPECT_TRUE(winner["step_time_seconds"].is_number());
  EXPECT_TRUE(reviewed["better"].empty()) << reviewed["better"].dump(1);
}

TEST(PlanTarget, TheFileOfAWinnerWithOffloadIsTheWinner) {
  const std::string file = testing::TempDir() + "winner.sh";
  const ProgramResult plan =
      run_program(split_words("plan --model llama-3-8b --cluster rtx-4090-8 --ranking-only "
                              "--target Megatron-LM --format json --launch-out " +
                              file));
  ASSERT_EQ(plan.exit_code, 0) << plan.err;
  const auto winner = Json::parse(plan.out)["ranked"][0];
  ASSERT_EQ(winner["layout"]["optimizer_offload"], true);
  const ProgramResult review =
      run_program(split_words("review --cluster rtx-4090-8 --json --from " + file));
  ASSERT_EQ(review.exit_code, 0) << review.err;
  const auto reviewed = Json::parse(review.out);
  EXPECT_EQ(reviewed["layout"], winner["layout"]);
  EXPECT_TRUE(reviewed["better"].empty()) << reviewed["better"].dump(1);
}

TEST(PlanTarget, AReportOfItSearchesTheSame) {
  const std::string file = testing::TempDir() + "target_plan.json";
  const std::string page = testing::TempDir() + "target.html";
  ASSERT_EQ(run_program(plan_words({"--target", "deepspeed", "--out", file})).exit_code, 0);
  const ProgramResult report = run_program({"report", file, "--out", page});
  EXPECT_EQ(report.exit_code, 0) << report.err;
}

}  // namespace
}  // namespace meshwright::test
