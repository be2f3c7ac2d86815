// SPDX-License-Identifier: Apache-2.0
// Results of benchmark clients as rows. The files are the seeds of serving_result_fuzz.
#include "interop/serving/benchmark_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "tests/paths.h"

namespace meshwright::interop {
namespace {

std::string result_text(const std::string& name) {
  std::ifstream stream(std::filesystem::path(MESHWRIGHT_SOURCE_DIR) /
                       "tests/fuzz/corpus/serving_result" / name);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

CsvTable result_table(const std::string& name) { return benchmark_table(result_text(name), name); }

std::string cell(const CsvTable& table, std::size_t row, const std::string& column) {
  const auto place = std::find(table.columns.begin(), table.columns.end(), column);
  return table.rows.at(row).at(static_cast<std::size_t>(place - table.columns.begin()));
}

using Cells = std::vector<std::pair<const char*, const char*>>;

// 655,360 / 640 = 1,024 and 327,680 / 640 = 512 tokens; 64 users of 640 requests are a closed loop.
TEST(BenchmarkTable, ReadsVllmBenchServe) {
  const CsvTable table = result_table("vllm.json");
  ASSERT_EQ(table.rows.size(), 1U);
  for (const auto& [column, value] : Cells{{"id", "vllm"},
                                           {"model", "meta-llama/Llama-3.1-70B-Instruct"},
                                           {"isl", "1024"},
                                           {"osl", "512"},
                                           {"load", "closed"},
                                           {"concurrency", "64"},
                                           {"num_prompts", "640"},
                                           {"tp", "4"},
                                           {"gpu", "h100"},
                                           {"engine_version", "0.19.0"},
                                           {"ttft_mean_ms", "420.5"},
                                           {"tpot_p99_ms", "31"},
                                           {"itl_mean_ms", "24"},
                                           {"output_tps", "1092.27"},
                                           {"length_distribution", "not stated"},
                                           {"spec_decode", "none"}}) {
    EXPECT_EQ(cell(table, 0, column), value) << column;
  }
}

// --tp 8 counts 4 data ranks: 2 ranks a group, 8 GPUs. Gaps of 229 ms are 10 tokens of 22.9 ms.
TEST(BenchmarkTable, ReadsBothLinesOfSglang) {
  const CsvTable table = result_table("sglang.jsonl");
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.lines, (std::vector<int>{1, 2}));
  for (const auto& [column, value] :
       Cells{{"id", "first"},
             {"tp", "2"},
             {"dp_attention", "4"},
             {"num_gpus", "8"},
             {"load", "closed"},
             {"concurrency", "32"},
             {"max_batched_tokens", ""},
             {"length_distribution", "uniform 0.5-1.0 of isl and osl"},
             {"itl_mean_ms", ""}}) {
    EXPECT_EQ(cell(table, 0, column), value) << column;
  }
  EXPECT_NE(cell(table, 0, "assumed").find("chunks of several tokens"), std::string::npos);
  EXPECT_EQ(cell(table, 1, "load"), "open poisson");
  EXPECT_EQ(cell(table, 1, "request_rate_rps"), "4");
  EXPECT_EQ(cell(table, 1, "length_distribution"), "fixed");
  EXPECT_EQ(cell(table, 1, "output_tps"), "");  // NaN
}

// Its inter-token latency is (latency - TTFT) / (O - 1); 4.4 s are 4,400 ms.
TEST(BenchmarkTable, ReadsAiperf) {
  const CsvTable table = result_table("aiperf.json");
  for (const auto& [column, value] : Cells{{"tpot_mean_ms", "8.5"},
                                           {"itl_mean_ms", ""},
                                           {"e2e_mean_ms", "4400"},
                                           {"ttft_p99_ms", "140"},
                                           {"concurrency", "16"},
                                           {"length_distribution", "fixed"},
                                           {"output_tps", "1800"}}) {
    EXPECT_EQ(cell(table, 0, column), value) << column;
  }
}

// Aggregated: 300 tokens/s on each of 8 GPUs. Disaggregated: 64 decode GPUs of 1 x tp8 with 8 ranks
// of experts are 8 counted twice, and 100 tokens/s are those of a decode GPU.
TEST(BenchmarkTable, ReadsInferencex) {
  const CsvTable table = result_table("inferencex.json");
  ASSERT_EQ(table.rows.size(), 2U);
  for (const auto& [column, value] : Cells{{"gpu", "b200"},
                                           {"engine", "trtllm"},
                                           {"tp", "8"},
                                           {"output_tps", "2400"},
                                           {"ttft_mean_ms", "310"},
                                           {"itl_mean_ms", ""},
                                           {"num_prompts", "640"}}) {
    EXPECT_EQ(cell(table, 0, column), value) << column;
  }
  for (const auto& [column, value] : Cells{{"gpu", "gb200"},
                                           {"mode", "disagg"},
                                           {"decode_gpus", "8"},
                                           {"prefill_gpus", "8"},
                                           {"decode_dp", "yes"},
                                           {"output_tps", "800"}}) {
    EXPECT_EQ(cell(table, 1, column), value) << column;
  }
}

TEST(BenchmarkTable, ReadsTheArgumentsOfAnEngineLog) {
  const CsvTable table = engine_log_table(result_text("vllm.log"), "vllm.log");
  for (const auto& [column, value] : Cells{{"engine", "vllm"},
                                           {"engine_version", "v0.19.0"},
                                           {"tp", "4"},
                                           {"precision", "fp8"},
                                           {"kv_format", "fp8"},
                                           {"kv_tokens", "1000000"}}) {
    EXPECT_EQ(cell(table, 0, column), value) << column;
  }
}

TEST(BenchmarkTable, ItsCsvIsReadAgain) {
  const CsvTable table = result_table("inferencex.json");
  const CsvTable again = read_csv(csv_text(table), "again.csv");
  ASSERT_EQ(again.rows.size(), 2U);
  for (const std::string& column : again.columns) {
    EXPECT_EQ(cell(again, 1, column), cell(table, 1, column)) << column;
  }
}

struct BadResult {
  const char* text;
  const char* said;
};
TEST(BenchmarkTable, RefusesBadResultsWithPlaceAndValue) {
  for (const BadResult& bad :
       {BadResult{"{}", "no known benchmark client"}, BadResult{"[]", "holds no results"},
        BadResult{"[3]", "r.json: /0: is no benchmark result"},
        BadResult{R"({"tput_per_gpu": 1, "tp": "many"})",
                  "/tp: must be a number, 0 or more (got \"many\")"},
        BadResult{R"({"tput_per_gpu": 1, "mean_ttft": -3})", "/mean_ttft: must be a number"},
        BadResult{R"({"tput_per_gpu": 1, "hw": []})", "/hw: must be text"},
        BadResult{R"({"tput_per_gpu": Infinity)", "r.json"}}) {
    try {
      benchmark_table(bad.text, "r.json");
      ADD_FAILURE() << bad.text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(bad.said), std::string::npos) << error.what();
    }
  }
}

// A text in quotes stays; 1e6 users of 10 requests are all at once.
TEST(BenchmarkTable, KeepsTextsThatSpeakOfInfinity) {
  const CsvTable table = benchmark_table(
      R"({"label": "to NaN and Infinity", "request_rate": Infinity, "max_concurrency": 1e6,
          "num_prompts": 10, "total_output_tokens": 10, "output_throughput": 1})",
      "r.json");
  EXPECT_EQ(cell(table, 0, "id"), "to NaN and Infinity");
  EXPECT_EQ(cell(table, 0, "load"), "all at once");
}

}  // namespace
}  // namespace meshwright::interop
