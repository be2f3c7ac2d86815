// SPDX-License-Identifier: Apache-2.0
// Every option of review counts, or is an error: none is taken and ignored.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "sim/base/text.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

constexpr const char* kTraining =
    "torchrun --nproc_per_node 8 --nnodes ${NODES:-1} pretrain_gpt.py --num-layers 32 \\\n"
    "  --hidden-size 4096 --num-attention-heads 32 --max-position-embeddings 4096 --bf16 \\\n"
    "  --tensor-model-parallel-size ${1:-4} --micro-batch-size 1 --global-batch-size 64\n";
constexpr const char* kService = "vllm serve Qwen/Qwen3-8B --tensor-parallel-size 1\n";
constexpr const char* kLog =
    " iteration 2/ 9 | elapsed time per iteration (ms): 4100.0 | global batch size: 64 |\n"
    " iteration 3/ 9 | elapsed time per iteration (ms): 4100.0 | global batch size: 64 |\n"
    " iteration 4/ 9 | elapsed time per iteration (ms): 4100.0 | global batch size: 64 |\n";
constexpr const char* kOtherLog = "at 2 took 4.1s\nat 3 took 4.1s\nat 4 took 4.1s\n";

struct Stated {
  const char* option;
  const char* value;  // @F is the folder of the test
  const char* file = "train.sh";
  const char* more = "";  // beside it, with and without
};

// Each changes what is printed or written.
constexpr Stated kCounts[] = {
    {"--from", "@F/other.sh"},
    {"--log", "@F/train.log"},
    {"--log-pattern", "at {step} took {seconds}s", "train.sh", "--log @F/other.log"},
    {"--cluster", "h200-512"},
    {"--model", "llama-3-8b"},
    {"--framework", "torchtitan-2025"},
    {"--gpus", "16"},
    {"--vocab-size", "32000"},
    {"--seq-length", "2048"},
    {"--set", "NODES=2"},
    {"--args", "8"},
    {"--engine", "vllm-0.14", "serve.sh"},
    {"--weights", "fp8", "serve.sh"},
    {"--isl", "512", "serve.sh", "--osl 128 --concurrency 4"},
    {"--osl", "512", "serve.sh", "--isl 128 --concurrency 4"},
    {"--concurrency", "8", "serve.sh", "--isl 128 --osl 128"},
    {"--rate", "2", "serve.sh", "--isl 128 --osl 128"},
    {"--ttft", "2s", "serve.sh", "--isl 128 --osl 128 --rate 2"},
    {"--tpot", "50ms", "serve.sh", "--isl 128 --osl 128 --rate 2"},
    {"--e2e", "9s", "serve.sh", "--isl 128 --osl 128 --rate 2"},
    {"--percentile", "p99", "serve.sh", "--isl 128 --osl 128 --rate 2"},
    {"--top", "1"},
    {"--fail-if", "peak_memory>1"},
    {"--json", ""},
    {"--launch-out", "@F/new.sh"},
    {"--measurements-out", "@F/runs.json", "train.sh", "--log @F/train.log"},
    {"--format", "json"},
    {"--table", "read", "serve.sh", "--isl 128 --osl 128 --concurrency 4 --format csv"},
    {"--out", "@F/out.txt"}};

// Each is refused: the launch says another value, or nothing would read it.
constexpr Stated kRefused[] = {{"--vocab-size", "32000", "whole.sh"},
                               {"--seq-length", "2048", "whole.sh"},
                               {"--set", "NODES=2", "whole.sh"},
                               {"--args", "8", "whole.sh"},
                               {"--vocab-size", "32000", "train.sh", "--model llama-3-8b"},
                               {"--format", "csv"},
                               {"--format", "markdown"},
                               {"--table", "read"},
                               {"--table", "read", "train.sh", "--format json"},
                               {"--log-pattern", "{step} {seconds}"},
                               {"--engine", "vllm-0.14"},
                               {"--weights", "fp8"},
                               {"--isl", "512"},
                               {"--osl", "512"},
                               {"--concurrency", "8"},
                               {"--rate", "2"},
                               {"--tpot", "50ms"},
                               {"--tpot", "50ms", "serve.sh"},
                               {"--percentile", "p99", "serve.sh"},
                               {"--gpus", "16", "serve.sh"},
                               {"--framework", "torchtitan-2025", "serve.sh"},
                               {"--log-pattern", "{step} {seconds}", "serve.sh"},
                               {"--seq-length", "2048", "serve.sh"},
                               {"--vocab-size", "32000", "serve.sh"},
                               {"--measurements-out", "@F/x", "serve.sh"}};

class ReviewOptions : public testing::Test {
 protected:
  ReviewOptions() {
    folder_.write("train.sh", kTraining);
    folder_.write("other.sh", replaced(kTraining, "--bf16", "--fp16"));
    folder_.write("whole.sh",
                  "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 \\\n"
                  "  --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 \\\n"
                  "  --max-position-embeddings 4096 --vocab-size 128256 --bf16 \\\n"
                  "  --micro-batch-size 1 --global-batch-size 64\n");
    folder_.write("serve.sh", kService);
    folder_.write("train.log", kLog);
    folder_.write("other.log", kOtherLog);
  }
  [[nodiscard]] std::string placed(const char* text) const {
    return replaced(text, "@F", folder_.path("."));
  }
  [[nodiscard]] ProgramResult review(const Stated& stated, bool with_it) const {
    std::vector<std::string> words{"review"};
    const auto add = [&](const std::string& option, const std::string& value) {
      words.push_back(option);
      if (!value.empty()) words.push_back(value);
    };
    const std::string option = stated.option;
    if (!with_it || option != "--from") add("--from", folder_.path(stated.file));
    if (!with_it || option != "--cluster") add("--cluster", "h100-512");
    for (const std::string& word : split_words(placed(stated.more))) words.push_back(word);
    if (with_it) add(option, placed(stated.value));
    return run_program(words);
  }
  TemporaryFolder folder_;
};

TEST_F(ReviewOptions, EachCounts) {
  for (const Stated& stated : kCounts) {
    SCOPED_TRACE(stated.option);
    const ProgramResult without = review(stated, false);
    const auto files = folder_.names();
    const ProgramResult with = review(stated, true);
    EXPECT_LE(with.exit_code, 1) << with.err;
    const bool writes = folder_.names() != files;
    EXPECT_TRUE(writes || with.out != without.out || with.err != without.err);
  }
}

TEST_F(ReviewOptions, WhatWouldChangeNothingIsRefused) {
  for (const Stated& stated : kRefused) {
    SCOPED_TRACE(std::string(stated.option) + " " + stated.file);
    EXPECT_LE(review(stated, false).exit_code, 1);
    const ProgramResult with = review(stated, true);
    EXPECT_EQ(with.exit_code, 2) << with.out;
    EXPECT_THAT(with.err, HasSubstr(stated.option));
  }
}

TEST_F(ReviewOptions, AreAllHere) {
  std::set<std::string> listed, tested{"--help"};
  const std::string help = run_program({"review", "--help"}).out;
  const std::regex option("\n +(?:-h,)?(--[a-z0-9-]+)");
  for (auto at = std::sregex_iterator(help.begin(), help.end(), option);
       at != std::sregex_iterator(); ++at) {
    listed.insert((*at)[1]);
  }
  for (const Stated& stated : kCounts) tested.insert(stated.option);
  EXPECT_EQ(listed, tested);
}

}  // namespace
}  // namespace meshwright::test
