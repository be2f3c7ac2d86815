// SPDX-License-Identifier: Apache-2.0
#include "sim/record/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/error_of.h"

namespace meshwright {
namespace {

using testing::HasSubstr;

std::string parse_error(const std::string& text) {
  return error_of([&] { parse_json(text, "f.json"); });
}

std::string nested(std::size_t levels) {
  return std::string(levels, '[') + std::string(levels, ']');
}

TEST(ParseJson, TakesWhatIsJson) {
  EXPECT_EQ(parse_json(R"({"a": [1, {"b": 2}], "c": {"b": 3}})", "f.json")["a"][1]["b"], 2);
  EXPECT_TRUE(parse_json("null", "f.json").is_null());
}

TEST(ParseJson, CommentsAreSkippedAndStringsAreNot) {
  const Json json =
      parse_json("// first\n{\n  // a\n  \"a\": 1, /* b */ \"b\": \"// 2\"}", "f.json");
  EXPECT_EQ(json, (Json{{"a", 1}, {"b", "// 2"}}));
  EXPECT_THAT(parse_error("{\"a\": 1 / 2}"), HasSubstr("line 1"));
}

TEST(ParseJson, AKeyThatStandsTwiceIsNamedByItsPointer) {
  EXPECT_EQ(parse_error(R"({"x": [0, {"a/b": 1, "c": {}, "a/b": 2}]})"),
            "f.json: /x/1/a~1b: is a duplicate key of its object");
}

TEST(ParseJson, ANumberBeyondAnyDoubleIsNamedByItsPointer) {
  EXPECT_EQ(parse_error(R"({"x": [1, -1e999]})"),
            "f.json: /x/1: -1e999 is larger than any number that is read");
  EXPECT_THAT(parse_error("1e999"), HasSubstr("f.json: "));
}

TEST(ParseJson, TheDeepestNestingIsRead) {
  EXPECT_EQ(parse_error(nested(kDeepestJson)), "");
  EXPECT_THAT(parse_error(nested(kDeepestJson + 1)), HasSubstr("nested deeper than 100 levels"));
  EXPECT_THAT(parse_error(nested(1'000'000)), HasSubstr("nested deeper"));
}

TEST(ParseJson, MoreValuesThanAnyRecordHoldsAreRefused) {
  std::string text = "[0";
  for (std::size_t i = 2; i < kMostJsonValues; ++i) text += ",0";  // the array is one
  EXPECT_EQ(parse_error(text + "]"), "");
  EXPECT_THAT(parse_error(text + ",0]"), HasSubstr("at most 2000000 values"));
}

TEST(ParseJson, WhatIsNoJsonNamesLineAndColumn) {
  EXPECT_THAT(parse_error("{\"a\":\n oops}"),
              HasSubstr("f.json: is not JSON: parse error at line 2"));
}

}  // namespace
}  // namespace meshwright
