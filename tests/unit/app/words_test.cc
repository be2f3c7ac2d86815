// SPDX-License-Identifier: Apache-2.0
// Hints are true and lead on; names are found; what would be ignored is refused.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/record/json.h"
#include "tests/paths.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

ProgramResult ranking_of(const std::vector<std::string>& more) {
  std::vector<std::string> words{"plan", "--ranking-only"};
  words.insert(words.end(), more.begin(), more.end());
  return run_program(words);
}

TEST(Words, ATrialIsProposedOnlyWhereItCouldRun) {
  const ProgramResult large =
      ranking_of(split_words("--model llama-3-405b --cluster h100-512 --gpus 16384 --format json"));
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_THAT(large.err, HasSubstr("--format json --out plan.json\n"));
}

std::size_t longest_line(const std::string& text) {
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char c : text) {
    length = c == '\n' ? 0 : length + ((static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0);
    longest = std::max(longest, length);
  }
  return longest;
}

// Through pipes: no terminal, so 120 characters and no colour.
TEST(Words, APlanIsOneDocumentThatFitsALineAndSaysProgressAside) {
  const ProgramResult result =
      run_program(split_words("plan --model llama-3-70b --cluster h100-512 --gpus 256,512 "
                              "--train-tokens 1e12 --price 2 --full"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_LE(longest_line(result.out), 120U) << result.out;
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  for (const char* part : {"llama-3-70b on", "GPU counts, each", "fastest layouts of", "all with ",
                           "rule of thumb", "confidence", "rejected"}) {
    EXPECT_THAT(result.out, HasSubstr(part));
  }
  EXPECT_THAT(result.err, HasSubstr("layouts evaluated, answered in "));
  EXPECT_THAT(result.err, HasSubstr("next: "));
  EXPECT_THAT(result.err, Not(HasSubstr("rejected")));
}

TEST(Words, AnMfuStandsBesideItsConventionOnce) {
  const auto once = [](std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    text = std::regex_replace(text, std::regex(" +"), " ");
    const std::size_t at = text.find(reports::kMfuConvention);
    return at != std::string::npos &&
           text.find(reports::kMfuConvention, at + 1) == std::string::npos;
  };
  const std::vector<std::string> on_eight{"--model", "llama-3-8b", "--cluster", "h100-8"};
  EXPECT_TRUE(once(run_program(with({"plan"}, on_eight)).out));
  EXPECT_TRUE(once(run_program(with(with({"estimate"}, on_eight), {"--layout", "tp=8"})).out));
  EXPECT_TRUE(once(content_of(std::string(MESHWRIGHT_SOURCE_DIR) + "/docs/reference/glossary.md")));
}

TEST(Words, ModelListNamesEveryShippedModelWithItsSize) {
  const ProgramResult result = run_program({"model", "list", "--format", "json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto models = Json::parse(result.out)["models"];
  bool found = false;
  for (const auto& model : models) {
    if (model["file"] != "llama-3-8b") continue;
    found = true;
    EXPECT_EQ(model["parameters"], 8'030'261'248.0);  // as its paper's checkpoint
  }
  EXPECT_TRUE(found);
  EXPECT_GE(models.size(), 10U);
}

TEST(Words, AFolderCalledLikeAModelHidesNothing) {
  const TemporaryFolder folder;
  fs::create_directory(folder.path("llama-3-8b"));
  const fs::path before = fs::current_path();
  fs::current_path(folder.path(""));
  const ProgramResult result = ranking_of({"--model", "llama-3-8b", "--cluster", "h100-8"});
  fs::current_path(before);
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST(Words, AnOwnClusterMayNameAShippedDevice) {
  const TemporaryFolder folder;
  std::ifstream in(config("clusters/h100-8.json"));
  Json cluster = Json::parse(in);
  cluster["device"] = "h100-sxm-80gb";
  cluster.erase("framework");
  cluster.erase("framework_assumed");
  const std::string file = folder.write("own.json", cluster.dump());
  const ProgramResult good = ranking_of({"--model", "llama-3-8b", "--cluster", file});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  cluster["device"] = "h100-sxm-81gb";
  folder.write("own.json", cluster.dump());
  const ProgramResult bad = ranking_of({"--model", "llama-3-8b", "--cluster", file});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("use h100-sxm-80gb"));
}

TEST(Words, KnownKeysAreListedOnce) {
  const TemporaryFolder folder;
  const std::string file = folder.write("plan.json", R"({"schema": "meshwright.plan/1", "x": 1})");
  const std::string err = run_program({"explain", file, "--layout", "1"}).err;
  EXPECT_THAT(err, Not(HasSubstr("schema, schema")));
}

TEST(Words, ControlCharactersOfANameNeverReachTheTerminal) {
  const TemporaryFolder folder;
  std::ifstream in(config("models/llama-3-8b.json"));
  Json model = Json::parse(in);
  model["name"] = "evil\x1b]0;title\x07";
  const std::string file = folder.write("m\x1b[2J.json", model.dump());
  for (const std::string layout : {"tp=8", "tp=5"}) {
    const ProgramResult result =
        run_program({"estimate", "--model", file, "--cluster", "h100-8", "--layout", layout});
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("\x1b")));
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("\x07")));
  }
}

TEST(Words, NumbersThatAreNoneAreRefused) {
  for (const std::string number : {"inf", "nan", "-1", "0", "1e999", "x"}) {
    for (const std::string flag : {"--train-tokens", "--price", "--max-cost"}) {
      const ProgramResult result =
          ranking_of({"--model", "llama-3-8b", "--cluster", "h100-8", flag + "=" + number});
      EXPECT_EQ(result.exit_code, 2) << flag << number;
      EXPECT_THAT(result.err, HasSubstr(flag));
    }
  }
}

TEST(Words, AWhatIfPastPhysicsIsRefused) {
  const auto what_if = [](const std::string& text) {
    return run_program({"plan", "--model", "llama-3-8b", "--cluster", "h100-8", "--what-if", text});
  };
  const ProgramResult refused = what_if("gemm_efficiency=5x");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("at most 1 is possible"));
  EXPECT_EQ(what_if("attention_efficiency=9x").exit_code, 2);
  EXPECT_EQ(what_if("peak_flops=5x").exit_code, 0);
}

TEST(Words, ABacktestWithoutAUsableRunFails) {
  const TemporaryFolder folder;
  std::ifstream in(config("datasets/korthikanti-2022-table-5.json"));
  Json set = Json::parse(in);
  auto run = set["runs"][0];
  set["runs"] = Json::array({run});
  set["runs"][0]["layout"]["tensor_parallel_size"] = 7;  // no number of heads divides by it
  set["runs"][0]["layout"]["data_parallel_size"] = 1;
  const ProgramResult result =
      run_program({"backtest", folder.write("set.json", set.dump()), "--cluster", "a100-80gb-512"});
  EXPECT_NE(result.exit_code, 0) << result.out;
}

TEST(Words, AnInterruptIs130AndSigterm143) {
  for (const auto& [signal, code] : {std::pair{SIGINT, 130}, {SIGTERM, 143}, {SIGHUP, 143}}) {
    const TemporaryFolder folder;
    const std::string pipe = folder.path("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const pid_t child =
        start_program({"plan", "--model", pipe, "--cluster", "h100-8"}, folder.path("out"));
    // It waits for its model once the pipe has a reader.
    int writer = -1;
    for (int i = 0; i < 1000 && writer < 0; ++i) {
      writer = ::open(pipe.c_str(), O_WRONLY | O_NONBLOCK);
      if (writer < 0) ::usleep(10'000);
    }
    ASSERT_GE(writer, 0);
    ::kill(child, signal);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(writer);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), code);
  }
}

}  // namespace
}  // namespace meshwright::test
