// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/longest_sequence.h"

#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

bool has_layout(Scenario scenario, int tokens) {
  scenario.job.seq_length = tokens;
  return !search(scenario, {}).ranked.empty();
}

// From a job's length that fits and from one that does not: the same limit.
TEST(LongestSequence, TheNextLengthHasNoLayout) {
  Scenario scenario{small_model(), small_cluster(1, 4), small_job()};
  const LongestSequence found = longest_sequence(scenario, {}, {});
  ASSERT_GT(found.tokens, kSequenceStep);
  EXPECT_TRUE(has_layout(scenario, found.tokens));
  EXPECT_FALSE(has_layout(scenario, found.failed));
  EXPECT_LE(found.failed - found.tokens, std::max(kSequenceStep, found.failed / 50));
  EXPECT_FALSE(found.reason.empty());
  scenario.job.seq_length = 2 * found.failed / kSequenceStep * kSequenceStep;
  const LongestSequence from_above = longest_sequence(scenario, {}, {});
  EXPECT_NEAR(from_above.tokens, found.tokens, std::max(kSequenceStep, found.failed / 50));
}

TEST(LongestSequence, ALimitOfTheStepBinds) {
  const Scenario scenario{small_model(), small_cluster(1, 80), small_job()};
  const LongestSequence free = longest_sequence(scenario, {}, {});
  const Seconds step = search(scenario, {}).ranked.front().step_time;
  Limits limits;
  limits.max_step = step * 3.0;
  const LongestSequence found = longest_sequence(scenario, {}, limits);
  EXPECT_LT(found.tokens, free.tokens);
  EXPECT_NE(found.reason.find("the limit is"), std::string::npos) << found.reason;
}

}  // namespace
}  // namespace meshwright::planner
