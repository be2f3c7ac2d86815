// SPDX-License-Identifier: Apache-2.0
// What all rules have: texts, names, and a sentence that names its own fields and numbers.
#include "sim/rules/rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "sim/base/units.h"
#include "sim/rules/feature_rules.h"
#include "sim/rules/framework_rules.h"
#include "tests/unit/sim/rules/rules_fixture.h"

namespace meshwright::rules_test {
namespace {

TEST(Rules, EveryRuleHasTextAndItsOwnName) {
  std::set<std::string_view> names;
  for (const RuleText& text : all_rules()) {
    EXPECT_TRUE(names.insert(text.name).second) << text.name;
    EXPECT_EQ(rule_text(text.rule).name, text.name);
    for (const auto part : {text.requirement, text.reason, text.remedy}) {
      ASSERT_GT(part.size(), 10U) << text.name;
      EXPECT_EQ(part.back(), '.') << text.name;
    }
  }
}

TEST(Rules, LegalLayoutsViolateNothing) {
  EXPECT_EQ(broken(dense(), Layout{}), kNone);
  EXPECT_EQ(broken(dense(), tensor(8, true)), kNone);
  EXPECT_EQ(broken(dense(), piped(8)), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::interleaved, 3)), kNone);
  for (const auto schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::zb_h1, PipelineSchedule::zb_h2}) {
    EXPECT_EQ(broken(dense(), piped(8, schedule)), kNone);
  }
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::zb_v, 2)), kNone);
  EXPECT_EQ(broken(dense(), piped(8, PipelineSchedule::dualpipe, 2)), kNone);
  Layout experts;
  experts.data_parallel_size = 8;
  experts.expert_parallel_size = 8;
  experts.zero_stage = 3;
  EXPECT_EQ(broken(sparse(), experts), kNone);
}

TEST(Rules, WorldSizeEqualsGpus) {
  const auto violation = check_layout(dense(), batch_of(64), tensor(8), {.gpus = 16});
  ASSERT_TRUE(violation);
  EXPECT_EQ(rule_text(violation->rule).name, "world_size_equals_gpus");
  EXPECT_EQ(violation->needed, 8);
  EXPECT_EQ(violation->available, 16);
  EXPECT_FALSE(check_layout(dense(), batch_of(64), tensor(8), {.gpus = 8}));
}

TEST(Rules, AreFoundByTheirNames) {
  EXPECT_EQ(rule_named("memory_capacity"), Rule::memory_capacity);
  EXPECT_FALSE(rule_named("no_such_rule"));
}

TEST(Rules, EverySentenceNamesItsOwnFieldsAndNumbers) {
  std::set<std::string_view> seen{"memory_capacity"};
  // tests/unit/sim/rules/framework_rules_test.cc has the others.
  const auto of_framework = [](std::string_view name) {
    const auto named = [&](const RuleRow& row) { return row.name == name; };
    return name == "framework_has_schedule" ||
           std::any_of(std::begin(kFrameworkRules), std::end(kFrameworkRules), named) ||
           std::any_of(std::begin(kFeatureRules), std::end(kFeatureRules), named);
  };
  for (const auto& cases : {tensor_cases(), pipeline_layout_cases(), pipeline_cases(),
                            batch_and_expert_cases(), library_and_format_cases(), switch_cases()}) {
    for (const Broken& b : cases) {
      Job job = b.job;
      job.global_batch_size = b.sequences;
      job.seq_length = b.seq_length;
      if (b.fp8) job.precision = Precision::fp8, job.fp8_recipe = Fp8Recipe::delayed;
      const auto violation = check_layout(b.model, job, b.layout, b.devices);
      ASSERT_TRUE(violation) << b.rule;
      EXPECT_EQ(rule_text(violation->rule).name, b.rule);
      EXPECT_EQ(describe(*violation, b.model, job, b.layout, b.devices), b.sentence);
      seen.insert(b.rule);
    }
  }
  for (const RuleText& text : all_rules()) {
    EXPECT_TRUE(seen.count(text.name) == 1 || of_framework(text.name)) << text.name;
  }
  const Violation memory{Rule::memory_capacity, gibibytes(96).value(), gibibytes(80).value()};
  EXPECT_EQ(describe(memory, dense(), batch_of(64), Layout{}, {}),
            "the rank with the highest memory use needs 96.00 GiB of 80.00 GiB");
}

}  // namespace
}  // namespace meshwright::rules_test
