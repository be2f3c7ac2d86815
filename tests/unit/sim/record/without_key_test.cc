// SPDX-License-Identifier: Apache-2.0
#include "sim/record/without_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright {
namespace {

TEST(WithoutKey, WhatStaysKeepsOrderValuesAndParents) {
  const Json json = Json::parse(R"({"z": 1, "gone": [1, 2], "b": {"c": "text"}, "a": [3]})");
  const Json kept = without_key(json, "gone");
  EXPECT_EQ(kept.dump(), R"({"z":1,"b":{"c":"text"},"a":[3]})");
  try {
    (void)kept["b"]["c"].get<int>();
    FAIL() << "a text is no number";
  } catch (const Json::type_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("(/b/c)"));
  }
  const Json copy = kept;  // with assertions on, a value without its parent stops here
  EXPECT_EQ(copy, kept);
}

TEST(WithoutKey, AbsentKeysAndOtherValuesStayAsTheyAre) {
  EXPECT_EQ(without_key(Json::parse(R"({"a": 1})"), "b").dump(), R"({"a":1})");
  EXPECT_EQ(without_key(Json(3), "b").dump(), "3");
}

}  // namespace
}  // namespace meshwright
