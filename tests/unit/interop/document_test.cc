// SPDX-License-Identifier: Apache-2.0
// Documents as values by key: YAML, TOML and JSON, references inside, values that are stated
// beside.
#include "interop/read_launch/document.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/read_launch/stated_values.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

// The words of a key, or why they are not known.
std::string said(Values& values, std::string_view key) {
  const Value* value = values.find(key);
  if (value == nullptr) return "no such key";
  return value->unknown.empty() ? fmt::format("{}", fmt::join(value->words, " ")) : value->unknown;
}

void expect_said(Values values, const std::map<std::string, std::string>& expected) {
  for (const auto& [key, words] : expected) EXPECT_EQ(said(values, key), words) << key;
}

TEST(Document, YamlTomlAndJsonGiveTheSameValuesWithTheirPlaces) {
  Values yaml = values_of_yaml("a:\n  b: 8\n  c: [x, y]\nd: null\n", "f.yaml");
  Values toml = values_of_toml("[a]\nb = 8\nc = [\"x\", \"y\"]\n", "f.toml");
  const std::map<std::string, std::string> both{{"a.b", "8"}, {"a.c", "x y"}, {"d", "no such key"}};
  for (const Values& values : {yaml, toml}) expect_said(values, both);
  expect_said(values_of_json(R"({"a": {"b": 8, "c": ["x", "y"]}, "d": null})", "f.json"), both);
  EXPECT_EQ(yaml.find("a.b")->place.text(), "f.yaml:2");
  EXPECT_EQ(toml.find("a.b")->place.text(), "f.toml:2");
}

TEST(Document, MarksAndCarriageReturnsAreNothing) {
  const std::string mark = "\xEF\xBB\xBF";
  expect_said(values_of_toml(mark + "[a]\r\nb = 1\r\n", "f"), {{"a.b", "1"}});
  expect_said(values_of_yaml(mark + "a:\r\n  b: 1\r\n", "f"), {{"a.b", "1"}});
  expect_said(values_of_json(mark + "{\"a\": 1}", "f"), {{"a", "1"}});
}

TEST(Document, WhatIsWrongHasLineAndColumnAndDepthIsLimited) {
  using testing::HasSubstr;
  EXPECT_THAT(error_of([] { values_of_toml("[a]\nb = = 1\n", "f.toml"); }), HasSubstr("f.toml:2:"));
  EXPECT_THAT(error_of([] { values_of_yaml("a:\n  - b: [1\nc: }\n", "f.yaml"); }),
              HasSubstr("f.yaml:"));
  EXPECT_THAT(error_of([] { values_of_json("{\"a\": }", "f.json"); }), HasSubstr("line 1"));
  const std::string deep = std::string(70, '[') + std::string(70, ']');
  EXPECT_THAT(error_of([&] { values_of_yaml("a: " + deep, "f"); }), HasSubstr("50 levels"));
}

TEST(References, ArePutInFromBesideAboveAndAnywhere) {
  expect_said(
      with_references(values_of_yaml("variables: { n: 5 }\na:\n  x: 1\n  y: ${.x}\n  b:\n"
                                     "    z: ${..x}\n    v: ${n}\nw: ${a.b.z}\nq: ${nowhere}\n"
                                     "r: ${r}\n",
                                     "f.yaml")),
      {{"a.y", "1"},
       {"a.b.z", "1"},
       {"w", "1"},
       {"a.b.v", "5"},
       {"q", "the file has no nowhere"},
       {"r", "its references lead to themselves"}});
}

TEST(References, ResolversThatComputeAreRun) {
  expect_said(
      with_references(
          values_of_yaml("m:\n  h: 8192\n  l: 80\n  f: ${multiply:4, ${.h}}\n"
                         "  half: ${divide:${.h},2}\n  more: ${add:${m.h},64,1}\n"
                         "  up: ${divide_ceil:${.l}, 3}\n  down: ${int_div:${.l},3}\n"
                         "  name: run-${.l}-${.h}\n  list: [\"${.l}\", 2]\n  env: ${oc.env:TP,8}\n"
                         "  none: ${oc.env:PP}\n  either: ${oc.select:m.gone, 7}\n"
                         "  bad: ${multiply:x, 2}\n  zero: ${divide:1,0}\n  odd: ${lookup:1}\n",
                         "f.yaml"),
          {{"TP", "4"}}),
      {{"m.f", "32768"},
       {"m.half", "4096"},
       {"m.more", "8257"},
       {"m.up", "27"},
       {"m.down", "26"},
       {"m.name", "run-80-8192"},
       {"m.list", "80 2"},
       {"m.env", "4"},
       {"m.either", "7"},
       {"m.none", "the environment's PP is not known"},
       {"m.bad", "x of multiply is no number"},
       {"m.zero", "it divides by zero"},
       {"m.odd", "the resolver lookup of OmegaConf is not run"}});
}

Values stated(const std::string& yaml, const std::map<std::string, std::string>& variables) {
  LaunchHints hints;
  hints.variables = variables;
  return with_stated(values_of_yaml(yaml, "f.yaml"), hints);
}

// A key may be given by its end. Variables of the environment are no keys.
TEST(StatedValues, StandInThePlaceOfTheDocuments) {
  expect_said(stated("model: { a: 1, b: 2 }\n", {{"model.a", "3"}}),
              {{"model.a", "3"}, {"model.b", "2"}});
  expect_said(stated("model: { a-b: 1 }\n", {{"a_b", "3"}}), {{"model.a-b", "3"}});
  expect_said(stated("model: { a: 1 }\n", {{"model.c", "[x,y]"}, {"d", "5"}}),
              {{"model.c", "x y"}, {"model.d", "5"}});
  expect_said(stated("model: { a: 1 }\n", {{"model.a", "null"}}), {{"model.a", "no such key"}});
  expect_said(stated("a: ${tp:4}\n", {{"tp", "8"}}), {{"tp", "no such key"}});
  expect_said(stated("a: 1\n", {{"GPUS", "8"}}), {{"GPUS", "no such key"}});
  EXPECT_THROW(stated("a: { x: 1 }\nb: { x: 2 }\n", {{"x", "3"}}), InputError);
}

}  // namespace
}  // namespace meshwright::interop
