// SPDX-License-Identifier: Apache-2.0
#include "interop/tables/measurement_map.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

Json convert(const std::string& csv, const char* map) {
  return measurements_from_csv(read_csv(csv, "t.csv"), "t.csv", Json::parse(map), "map.json").set;
}

constexpr const char* kMap = R"({
  "name": "mine",
  "constants": {"/model": "llama-3-8b", "/layout/zero_stage": 1},
  "columns": {
    "/gpus": "n",
    "/layout/tensor_parallel_size": "tp",
    "/layout/sequence_parallel": "sp",
    "/measured/step_seconds": {"column": "ms", "scale": 0.5},
    "/measured/status": {"column": "state", "values": {"OOM": "oom", "done": "ok"}}}})";

TEST(MeasurementMap, PutsCellsWherePointersSay) {
  const auto set = convert("n,tp,sp,ms,state\n8,2,true,3,done\n", kMap);
  EXPECT_EQ(set["schema"], "meshwright.measurements/1");
  EXPECT_EQ(set["name"], "mine");
  EXPECT_EQ(set["source"], "t.csv");
  const auto& run = set["runs"][0];
  EXPECT_EQ(run["gpus"], 8);
  EXPECT_EQ(run["layout"]["tensor_parallel_size"], 2);
  EXPECT_EQ(run["layout"]["sequence_parallel"], true);
  EXPECT_EQ(run["layout"]["zero_stage"], 1);
  EXPECT_EQ(run["measured"]["step_seconds"], 1.5);  // 3 * 0.5
  EXPECT_EQ(run["measured"]["status"], "ok");
}

TEST(MeasurementMap, EmptyCellsLeaveTheirFieldOut) {
  const auto set = convert("n,tp,sp,ms,state\n8,,,,OOM\n", kMap);
  const auto& run = set["runs"][0];
  EXPECT_FALSE(run["layout"].contains("tensor_parallel_size"));
  EXPECT_FALSE(run["measured"].contains("step_seconds"));
  EXPECT_EQ(run["measured"]["status"], "oom");
}

TEST(MeasurementMap, WithoutAColumnIdIsTheRowAndGroupTheModelAndGpus) {
  const auto set = convert("n,tp,sp,ms,state\n8,1,,1,done\n16,1,,1,done\n", kMap);
  EXPECT_EQ(set["runs"][1]["id"], "2");
  EXPECT_EQ(set["runs"][1]["group"], "llama-3-8b on 16 GPUs");
}

TEST(MeasurementMap, JoinsColumnsIntoOneText) {
  const auto set = convert(
      "m,n\n8B,4\n", R"({"name": "x", "columns": {"/group": {"join": ["m", "n"]}, "/id": "n"}})");
  EXPECT_EQ(set["runs"][0]["group"], "8B 4");
  EXPECT_EQ(set["runs"][0]["id"], "4");  // text, though it reads as a number
}

std::string map_error(const std::string& csv, const char* map) {
  return error_and_hint_of([&] { convert(csv, map); });
}

TEST(MeasurementMap, SaysWhichRowAndColumnIsWrong) {
  EXPECT_EQ(map_error("gpus\n8\n", R"({"name": "x", "columns": {"/gpus": "gpu"}})"),
            "map.json: /columns//gpus: t.csv has no column \"gpu\" hint: use gpus");
  EXPECT_EQ(map_error("a\nslow\n", R"({"name": "x", "columns": {"/measured/step_seconds":
                                     {"column": "a", "scale": 2}}})"),
            "t.csv (row 1): /measured/step_seconds: must be a number (got \"slow\") hint: ");
  EXPECT_EQ(map_error("a\nx\n", R"({"name": "x", "columns": {"/measured/status":
                                  {"column": "a", "values": {"y": "ok"}}}})"),
            "t.csv (row 1): /measured/status: \"x\" is none of the map's values hint: ");
  EXPECT_NE(map_error("a\nx\n", R"({"name": "x", "columns": {"gpus": "a"}})").find("JSON pointer"),
            std::string::npos);
}

TEST(MeasurementMap, LeavesAWrongRowOut) {
  const auto set = convert("n,tp,sp,ms,state\n8,1,,1,done\n8,1,,1,lost\n8,1\n", kMap);
  EXPECT_EQ(set["runs"].size(), 1U);
  ASSERT_EQ(set["left_out"].size(), 2U);
  EXPECT_EQ(set["left_out"][0]["place"], "row 2, line 3");
  EXPECT_EQ(set["left_out"][0]["reason"], "/measured/status: \"lost\" is none of the map's values");
  EXPECT_EQ(set["left_out"][1]["reason"], "line 4: 2 cells below a header of 5");
  EXPECT_EQ(map_error("a,b\n1,2\n3\n4\n", R"({"name": "x", "columns": {"/gpus": "a"}})"), "");
}

// As an array index, 4000000000 would ask for 100 GB.
TEST(MeasurementMap, ANumberInAPointerIsAKey) {
  const auto set = convert("a\n1\n", R"({"name": "x", "columns": {"/layout/4000000000": "a"}})");
  EXPECT_EQ(set["runs"][0]["layout"]["4000000000"], 1);
}

TEST(MeasurementMap, APointerBelowAValueIsRefused) {
  EXPECT_NE(map_error("a\n1\n", R"({"name": "x", "constants": {"/job": "pretrain-4k"},
                                 "columns": {"/job/seq_length": "a"}})")
                .find("below a value that is no object"),
            std::string::npos);
}

}  // namespace
}  // namespace meshwright::interop
