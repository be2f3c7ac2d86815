// SPDX-License-Identifier: Apache-2.0
// Review of a service through the program.
#include <gtest/gtest.h>

#include "reports/records/serving_review.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"
#include "tests/unit/schema_check.h"

namespace meshwright {
namespace {

using test::run_program;
using test::TemporaryFolder;

constexpr char kLaunch[] =
    "docker run --gpus all vllm/vllm-openai:v0.19.0 --model meta-llama/Llama-3.1-70B-Instruct "
    "--quantization fp8 --kv-cache-dtype fp8 --tensor-parallel-size 4 --max-num-seqs 256\n";

TEST(ReviewOfAService, PredictsAndObeysItsSchema) {
  const TemporaryFolder folder;
  const std::string file = folder.write("serve.sh", kLaunch);
  const auto result = run_program({"review", "--from", file, "--cluster", "h100-8", "--isl", "2000",
                                   "--osl", "500", "--concurrency", "64", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_review_record().schema("review"), answer), "");
  EXPECT_EQ(answer["verdict"], "fits");
  EXPECT_EQ(answer["gpus"], 4);
  EXPECT_GT(answer["kv_tokens"].get<double>(), 64 * 2500);
  EXPECT_GT(answer["tpot_seconds"].get<double>(), 0.0);
}

// 64 users, 1,024 + 512 tokens: the load is the result's. The measured TTFT is its 420.5 ms.
TEST(ReviewOfAService, ComparesAResultOfABenchmark) {
  const TemporaryFolder folder;
  const std::string file = folder.write("serve.sh", kLaunch);
  const std::string log =
      std::string(MESHWRIGHT_SOURCE_DIR) + "/tests/fuzz/corpus/serving_result/vllm.json";
  const auto result = run_program(
      {"review", "--from", file, "--cluster", "h100-8", "--log", log, "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const Json answer = Json::parse(result.out);
  EXPECT_EQ(test::complaint_of(reports::serving_review_record().schema("review"), answer), "");
  EXPECT_TRUE(answer.contains("tpot_seconds")) << result.out;
  bool found = false;
  for (const Json& one : answer["measured"]) {
    EXPECT_LT(one["low"], one["predicted"]);
    EXPECT_GT(one["high"], one["predicted"]);
    if (one["quantity"] != "ttft_mean") continue;
    found = true;
    EXPECT_NEAR(one["measured"].get<double>(), 0.4205, 1e-9);
  }
  EXPECT_TRUE(found) << result.out;
}

}  // namespace
}  // namespace meshwright
