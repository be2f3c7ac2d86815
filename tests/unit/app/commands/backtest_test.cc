// SPDX-License-Identifier: Apache-2.0
// One wrong run does not take the others with it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/record/json.h"
#include "tests/unit/app/run_program.h"

namespace meshwright::test {
namespace {

using testing::HasSubstr;

Json run_of(const std::string& id, int gpus) {
  return {{"id", id},
          {"group", "all"},
          {"model", "gpt2-xl"},
          {"cluster", "h100-512"},
          {"gpus", gpus},
          {"job", {{"seq_length", 1024}, {"global_batch_size", 64}}},
          {"layout", {{"tensor_parallel_size", 1}}},
          {"measured", {{"step_seconds", 1.0}}}};
}
std::string set_of(const Json& runs) {
  return Json{{"schema", "meshwright.measurements/1"}, {"name", "s"}, {"runs", runs}}.dump();
}

TEST(Backtest, NamesAWrongRunAndPricesTheOthers) {
  const TemporaryFolder folder;
  Json unknown = run_of("third", 8);
  unknown["model"] = "no-such-model";
  Json misspelt = run_of("fourth", 8);
  misspelt["layout"]["tensor_paralel_size"] = 2;
  const std::string file = folder.write("s.json", set_of({run_of("first", 8), run_of("second", 12),
                                                          unknown, misspelt, Json("fifth")}));
  const ProgramResult result = run_program({"backtest", file, "--format", "json"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr(file + ": /runs/1 (\"second\") is left out: 12 devices are no "
                                           "whole number of nodes of 8 (use 8 or 16)"));
  const Json json = Json::parse(result.out);
  ASSERT_EQ(json["runs"].size(), 1U);
  EXPECT_EQ(json["runs"][0]["id"], "first");
  ASSERT_EQ(json["left_out"].size(), 4U);
  EXPECT_EQ(json["left_out"][1]["id"], "third");
  EXPECT_EQ(json["left_out"][2]["place"], "/runs/3");
  EXPECT_THAT(json["left_out"][2]["reason"].get<std::string>(), HasSubstr("tensor_paralel_size"));
  EXPECT_EQ(json["left_out"][3]["id"], "");
  EXPECT_THAT(run_program({"backtest", file}).out, HasSubstr("Skipped runs"));
}

TEST(Backtest, RefusesASetWithoutARunThatCanBeRead) {
  const TemporaryFolder folder;
  const std::string file = folder.write("s.json", set_of({run_of("second", 12)}));
  EXPECT_EQ(run_program({"backtest", file}).exit_code, 2);
}

// Row 2 has a word for a time, row 3 a cell too few, row 4 an impossible count.
TEST(ImportMeasurements, KeepsTheRowsThatCanBeRead) {
  const TemporaryFolder folder;
  const std::string map = folder.write("map.json", R"({"name": "mine", "constants": {
      "/model": "gpt2-xl", "/cluster": "h100-512", "/job/seq_length": 1024,
      "/job/global_batch_size": 64, "/layout/tensor_parallel_size": 1},
      "columns": {"/id": "run", "/gpus": "n",
                  "/measured/step_seconds": {"column": "ms", "scale": 0.001}}})");
  const std::string table =
      folder.write("t.csv", "run,n,ms\na,8,900\nb,8,slow\nc,8\nd,12,900\ne,16,500\n");
  const std::string out = folder.path("set.json");
  const ProgramResult made =
      run_program({"import", "measurements", table, "--map", map, "--out", out});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, HasSubstr(table + ": row 2, line 3 (\"b\") is left out: "
                                          "/measured/step_seconds: must be a number"));
  EXPECT_THAT(made.err, HasSubstr("row 3, line 4 (\"3\") is left out: line 4: 2 cells below a "
                                  "header of 3"));
  EXPECT_THAT(made.err, HasSubstr("row 4, line 5 (\"d\") is left out: 12 devices"));
  const Json set = Json::parse(content_of(out));
  ASSERT_EQ(set["runs"].size(), 2U);
  EXPECT_EQ(set["runs"][1]["id"], "e");
  EXPECT_EQ(set["left_out"].size(), 3U);
  const Json priced = Json::parse(run_program({"backtest", out, "--format", "json"}).out);
  EXPECT_EQ(priced["runs"].size(), 2U);
  EXPECT_EQ(priced["left_out"].size(), 3U);
}

}  // namespace
}  // namespace meshwright::test
