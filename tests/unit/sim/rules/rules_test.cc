// SPDX-License-Identifier: Apache-2.0
// What all rules have: texts, names, numbers. cases/*.txt has the layouts that break each.
#include "sim/rules/rules.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/base/units.h"
#include "sim/rules/rule_row.h"

namespace meshwright {
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

TEST(Rules, AViolationSaysWhatIsNeededAndWhatThereIs) {
  Layout layout;
  layout.tensor_parallel_size = 8;
  const auto violation = check_layout({}, {}, layout, {.gpus = 16});
  ASSERT_TRUE(violation);
  EXPECT_EQ(rule_text(violation->rule).name, "world_size_equals_gpus");
  EXPECT_EQ(violation->needed, 8);
  EXPECT_EQ(violation->available, 16);
}

TEST(Rules, AreFoundByTheirNames) {
  EXPECT_EQ(rule_named("memory_capacity"), Rule::memory_capacity);
  EXPECT_FALSE(rule_named("no_such_rule"));
}

// 90 of 80 GiB: (90 - 80) / 90. 64 heads over 3 ranks: 1 over a multiple: 1/3. At most one stage,
// eight asked for: 7/8.
TEST(Shortfall, IsRelativeToWhatWasNeeded) {
  EXPECT_DOUBLE_EQ(shortfall({90, 80}), 10.0 / 90.0);
  EXPECT_DOUBLE_EQ(shortfall({3, 64}), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(shortfall({1, 8}), 7.0 / 8.0);
}

TEST(Rules, MemoryIsSaidInGibibytes) {
  const Violation memory{Rule::memory_capacity, gibibytes(96).value(), gibibytes(80).value()};
  EXPECT_EQ(describe(memory, {}, {}, {}, {}),
            "the rank with the highest memory use needs 96.00 GiB of 80.00 GiB");
}

}  // namespace
}  // namespace meshwright
