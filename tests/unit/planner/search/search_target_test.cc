// SPDX-License-Identifier: Apache-2.0
// A search for a launcher finds the best of what the launcher can say, and counts the rest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/search/search.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Plan searched(const SearchOptions& options) {
  return search({small_model(), small_cluster(2, 80), small_job()}, options);
}

// Only tensor ranks with sequence parallelism, and one micro-batch size.
SearchOptions aimed() {
  SearchOptions options;
  options.target = {"launcher", [](const Layout& l) -> std::string {
                      if (l.tensor_parallel_size > 1 && !l.sequence_parallel) return "always sp";
                      return l.zero_stage == 2 ? "no ZeRO 2" : "";
                    }};
  return options;
}

TEST(SearchTarget, EveryLayoutCanBeSaidAndTheRestIsCounted) {
  const Plan all = searched({});
  const Plan some = searched(aimed());
  ASSERT_FALSE(some.ranked.empty());
  for (const Estimate& estimate : some.ranked) {
    EXPECT_EQ(aimed().target.refusal(estimate.layout), "");
  }
  std::int64_t refused = 0;
  for (const auto& [why, count] : some.not_expressible) refused += count;
  EXPECT_EQ(some.statistics.legal + refused, all.statistics.legal);
  EXPECT_EQ(some.statistics.enumerated, all.statistics.enumerated);
  EXPECT_EQ(some.not_expressible.size(), 2U);
  EXPECT_EQ(some.target, "launcher");
  EXPECT_THAT(some.notes.front(), testing::HasSubstr("launcher cannot express"));
}

// The same space with the refused values left out of its axes.
TEST(SearchTarget, FindsWhatASmallerSpaceHolds) {
  SearchOptions smaller;
  smaller.space[&Layout::micro_batch_size] = {1, 2};
  smaller.space[&Layout::zero_stage] = {0, 3};
  SearchOptions target;
  target.target = {"launcher", [](const Layout& l) -> std::string {
                     const bool said = l.micro_batch_size <= 2 && l.zero_stage % 3 == 0;
                     return said ? "" : "no word";
                   }};
  const Plan by_axes = searched(smaller);
  const Plan by_target = searched(target);
  ASSERT_FALSE(by_axes.ranked.empty());
  EXPECT_EQ(by_target.ranked.front().layout, by_axes.ranked.front().layout);
  EXPECT_EQ(by_target.ranked.front().step_time, by_axes.ranked.front().step_time);
}

TEST(SearchTarget, BoundsChangeNothing) {
  SearchOptions slow = aimed();
  slow.branch_and_bound = false;
  const Plan a = searched(aimed());
  const Plan b = searched(slow);
  ASSERT_EQ(a.ranked.size(), b.ranked.size());
  for (std::size_t i = 0; i < a.ranked.size(); ++i) {
    EXPECT_EQ(a.ranked[i].layout, b.ranked[i].layout);
  }
  EXPECT_EQ(a.not_expressible, b.not_expressible);
}

TEST(SearchTarget, WhereNothingCanBeSaidNothingIsFound) {
  SearchOptions options;
  options.target = {"mute", [](const Layout&) { return std::string("it is mute"); }};
  const Plan plan = searched(options);
  EXPECT_TRUE(plan.ranked.empty());
  EXPECT_EQ(plan.statistics.legal, 0);
}

}  // namespace
}  // namespace meshwright::planner
