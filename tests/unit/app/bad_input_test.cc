// SPDX-License-Identifier: Apache-2.0
// Everything that a user can get wrong ends in one message with file, place, value and what is
// allowed, exit code 2, and no file half-written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr int kWrongInput = 2;

ProgramResult plan_on_h100s(const std::string& model, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"plan", "--model", model, "--cluster",
                                     config("clusters/h100-8.json")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_program(arguments);
}

// One error, said once, on stderr.
void expect_refused(const ProgramResult& result, const std::vector<std::string>& words) {
  EXPECT_EQ(result.exit_code, kWrongInput) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  for (const std::string& word : words) EXPECT_THAT(result.err, HasSubstr(word));
  const std::string mark = "error:";
  const std::size_t first = result.err.find(mark);
  ASSERT_NE(first, std::string::npos) << result.err;
  EXPECT_EQ(result.err.find(mark, first + 1), std::string::npos) << result.err;
}

TEST(BadInput, AMissingFileIsNamedWithTheNearestOneThere) {
  expect_refused(plan_on_h100s(config("models/llama-3-80b.json")),
                 {"llama-3-80b.json", "no such file", "llama-3-8b.json"});
}

TEST(BadInput, ADirectoryIsNoFile) {
  expect_refused(plan_on_h100s(config("models")), {"is a directory"});
}

TEST(BadInput, BrokenJsonNamesLineAndColumn) {
  const TemporaryFolder folder;
  expect_refused(plan_on_h100s(folder.write("m.json", "{\"num_layers\": 4,\n oops}")),
                 {"m.json", "not JSON", "line 2"});
}

TEST(BadInput, AWrongTypeNamesPointerValueAndWhatIsAllowed) {
  const TemporaryFolder folder;
  const std::string file = folder.write("m.json", R"({"num_layers": "12", "hidden_size": 64})");
  expect_refused(plan_on_h100s(file), {"m.json", "/num_layers", "\"12\"", "integer"});
}

TEST(BadInput, AnUnknownKeyNamesTheNearestKnownOne) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("m.json", R"({"num_layers": 4, "hiden_size": 64, "hidden_size": 64})");
  expect_refused(plan_on_h100s(file), {"/hiden_size", "unknown key", "use \"hidden_size\""});
}

TEST(BadInput, ZeroAndNegativeSizesAreRefused) {
  const TemporaryFolder folder;
  expect_refused(plan_on_h100s(folder.write("a.json", R"({"num_layers": 0, "hidden_size": 64})")),
                 {"/num_layers", "(got 0)"});
  expect_refused(plan_on_h100s(folder.write("b.json", R"({"num_layers": 4, "hidden_size": -64})")),
                 {"/hidden_size", "(got -64)"});
}

TEST(BadInput, NotANumberIsNotJson) {
  const TemporaryFolder folder;
  expect_refused(plan_on_h100s(folder.write("m.json", R"({"num_layers": NaN, "hidden_size": 64})")),
                 {"m.json", "not JSON"});
}

TEST(BadInput, HeadsThatDoNotDivideNameTheRule) {
  const ProgramResult result =
      run_program({"estimate", "--model", config("models/llama-3-8b.json"), "--cluster",
                   config("clusters/h100-8.json"), "--layout", "tp=3,dp=2"});
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, HasSubstr("heads"));
}

TEST(BadInput, AFileOfTenGigabytesIsNotRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("big.json", "{");
  ASSERT_EQ(::truncate(file.c_str(), 10'000'000'000), 0);  // sparse: takes no space
  expect_refused(plan_on_h100s(file), {"big.json", "MiB"});
}

TEST(BadInput, AnOutputThatCannotBeWrittenIsRefusedAndNothingIsLeftBehind) {
  const TemporaryFolder folder;
  expect_refused(plan_on_h100s(config("models/llama-3-8b.json"),
                               {"--out", folder.path("no/such/folder/plan.json")}),
                 {"plan.json", "cannot be written"});
  std::filesystem::create_directory(folder.path("taken"));
  expect_refused(plan_on_h100s(config("models/llama-3-8b.json"), {"--out", folder.path("taken")}),
                 {"is a directory"});
  EXPECT_THAT(folder.names(), testing::ElementsAre("taken"));
}

TEST(BadInput, AFailedCommandLeavesNoPartOfItsOutput) {
  const TemporaryFolder folder;
  const std::string model = folder.write("m.json", R"({"num_layers": 4})");
  expect_refused(plan_on_h100s(model, {"--out", folder.path("plan.json")}),
                 {"/hidden_size", "required"});
  EXPECT_THAT(folder.names(), testing::ElementsAre("m.json"));
}

TEST(BadInput, AMisspeltOptionOrCommandIsAnsweredWithTheNearest) {
  expect_refused(plan_on_h100s(config("models/llama-3-8b.json"), {"--gpuz", "8"}), {"--gpus"});
  expect_refused(run_program({"plam"}), {"plan"});
}

TEST(BadInput, ADeviceCountThatIsNoWholeNumberOfNodesIsRefused) {
  expect_refused(plan_on_h100s(config("models/llama-3-8b.json"), {"--gpus", "12"}), {"12"});
}

TEST(BadInput, AHuggingFaceConfigMayHoldOtherKeys) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("config.json", R"({"model_type": "llama", "hidden_size": 1024,
    "num_hidden_layers": 8, "num_attention_heads": 8, "num_key_value_heads": 8, "intermediate_size": 2816,
    "vocab_size": 32000, "torch_dtype": "bfloat16", "anything": {"else": 1}})");
  const ProgramResult result = plan_on_h100s(file);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("error:")));
}

}  // namespace
}  // namespace meshwright::test
