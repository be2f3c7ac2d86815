// SPDX-License-Identifier: Apache-2.0
// meshwright serve estimate through the program: answers, their schema, refusals and bad input.
#include <gtest/gtest.h>

#include "reports/records/serving_answer.h"
#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright {
namespace {

using test::run_program;
using test::with;

const std::vector<std::string> kLlama{
    "serve",     "estimate", "--model", "llama-3-70b", "--cluster", "h100-8",  "--engine",
    "vllm-0.24", "--tp",     "8",       "--weights",   "fp8",       "--batch", "64"};

TEST(ServeEstimate, AnswersWithMemoryStepsAndVolume) {
  const auto result = run_program(kLlama);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* word :
       {"tp8", "vllm-0.24", "key-value cache", "decode attention", "all reduce",
        "attention output all-reduce", "two-shot", "requests of 1,024 + 1,024"}) {
    EXPECT_NE(result.out.find(word), std::string::npos) << word << "\n" << result.out;
  }
}

TEST(ServeEstimate, RefusesAnotherEnginesExchange) {
  const auto result = run_program(with(kLlama, {"--expert-exchange", "nvlink_all_to_all"}));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("TensorRT-LLM's"), std::string::npos) << result.err;
}

TEST(ServeEstimate, JsonObeysItsSchemaAndAddsUp) {
  const auto result = run_program(with(kLlama, {"--format", "json"}));
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

TEST(ServeEstimate, CsvHasTheTables) {
  const auto result = run_program(with(kLlama, {"--format", "csv"}));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("sent_mb"), std::string::npos) << result.out;
}

TEST(ServeEstimate, GivesTheEnginesReasonForARefusal) {
  const auto result =
      run_program({"serve", "estimate", "--model", "deepseek-v3", "--cluster", "h100-512",
                   "--engine", "vllm-0.24", "--tp", "32", "--weights", "fp8_block"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("18,432 / 32 is 576 columns a rank"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("fp8_blocks_are_whole"), std::string::npos) << result.err;
}

TEST(ServeEstimate, SaysThatWeightsDoNotFit) {
  const auto result = run_program(
      {"serve", "estimate", "--model", "llama-3-70b", "--cluster", "h100-8", "--tp", "1"});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find("Does not fit"), std::string::npos) << result.err;
}

struct Bad {
  std::vector<std::string> more;
  const char* said;
};
TEST(ServeEstimate, RefusesBadInputWithPlaceValueAndWhatIsAllowed) {
  const std::vector<std::string> good{"serve", "estimate", "--cluster", "h100-8"};
  const std::vector<Bad> cases{
      {{"--model", "llama-3-8b", "--engine", "vllm-0.25"}, "the nearest version is vllm-0.24"},
      {{"--model", "llama-3-8b", "--memory-fraction", "1.5"}, "at most 1, is 1.5"},
      {{"--model", "llama-3-8b", "--memory-fraction", "0"}, "must be above 0"},
      {{"--model", "toy-mlp"}, "no known key-value layout"},
      {{"--model", "llama-3-70b", "--isl", "200000"}, "131072 positions"},
      {{"--model", "llama-3-8b", "--max-model-len", "100", "--isl", "100", "--osl", "1"},
       "--max-model-len 100"},
      {{"--model", "llama-3-8b", "--weights", "fp7"}, "nvfp4"},
      {{"--model", "llama-3-8b", "--kv-cache", "int8"}, "fp8_ds_mla"},
      {{"--model", "qwen3-30b-a3b", "--engine", "sglang-0.5.14", "--tp", "4", "--dp", "3"},
       "must divide --tp 4"},
      {{"--model", "llama-3-8b", "--batch", "0"}, "--batch"},
      {{"--model", "llama-3-8b", "--acceptance", "0.5"}, "--speculative-tokens"},
  };
  for (const Bad& bad : cases) {
    const auto result = run_program(with(good, bad.more));
    EXPECT_EQ(result.exit_code, 2) << bad.said << result.out;
    EXPECT_NE(result.err.find(bad.said), std::string::npos) << result.err;
  }
}

// SGLang's --tp counts attention's data ranks: 8 GPUs, each group alone.
TEST(ServeEstimate, ReadsSizesInTheEnginesWords) {
  const auto result = run_program({"serve", "estimate", "--model", "deepseek-v3", "--cluster",
                                   "h200-512", "--engine", "sglang-0.5.14", "--tp", "8", "--dp",
                                   "8", "--ep", "8", "--weights", "fp8_block", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json layout = Json::parse(result.out)["estimate"]["options"]["layout"];
  EXPECT_EQ(layout["tensor_parallel_size"], 1);
  EXPECT_EQ(layout["data_parallel_size"], 8);
}

}  // namespace
}  // namespace meshwright
