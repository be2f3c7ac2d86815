// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/group_shapes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/measure/pairs.h"

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Ranks a node, nodes, groups a node; then who is in which group.
std::vector<int> colors(const std::vector<GroupShape>& shapes, int in_node, int nodes, int groups) {
  for (const GroupShape& s : shapes) {
    const Placement& p = s.placement;
    if (p.ranks_per_node == in_node && p.num_nodes == nodes && p.groups_per_node == groups) {
      EXPECT_EQ(p.group_size, in_node * nodes);
      return s.color_of_rank;
    }
  }
  return {};
}

TEST(GroupShapes, OneNodeOfFourHasPairsAtOnceAPairAloneAndAllFour) {
  const auto shapes = group_shapes(node_numbers({"a", "a", "a", "a"}));
  ASSERT_EQ(shapes.size(), 3U);
  EXPECT_THAT(colors(shapes, 2, 1, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(colors(shapes, 2, 1, 1), ElementsAre(0, 0, -1, -1));
  EXPECT_THAT(colors(shapes, 4, 1, 1), ElementsAre(0, 0, 0, 0));
}

TEST(GroupShapes, ARankLeftOverWaits) {
  const auto shapes = group_shapes(node_numbers({"a", "a", "a"}));
  ASSERT_EQ(shapes.size(), 2U);  // 2 and 3; one pair is all that three ranks have
  EXPECT_THAT(colors(shapes, 2, 1, 1), ElementsAre(0, 0, -1));
}

TEST(GroupShapes, OneRankHasNoGroups) { EXPECT_TRUE(group_shapes(node_numbers({"a"})).empty()); }

// Two nodes of two: pairs inside both nodes; one rank a node, both at once and one alone; all four.
TEST(GroupShapes, TwoNodesAreMeasuredInsideAcrossAndMixed) {
  const auto shapes = group_shapes(node_numbers({"a", "a", "b", "b"}));
  ASSERT_EQ(shapes.size(), 4U);
  EXPECT_THAT(colors(shapes, 2, 1, 1), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(colors(shapes, 1, 2, 2), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(colors(shapes, 1, 2, 1), ElementsAre(0, -1, 0, -1));
  EXPECT_THAT(colors(shapes, 2, 2, 1), ElementsAre(0, 0, 0, 0));
}

// Four nodes of four: two ranks of each of two nodes; 2 x 2 groups at once, and one alone.
TEST(GroupShapes, SeveralRanksOfSomeNodesAreAGroupToo) {
  const auto shapes = group_shapes({0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3});
  EXPECT_THAT(colors(shapes, 2, 2, 2), ElementsAre(0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3));
  EXPECT_THAT(colors(shapes, 2, 2, 1),
              ElementsAre(0, 0, -1, -1, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1));
}

// The second node has a rank more, which no group can use.
TEST(GroupShapes, TheSmallestNodeDecides) {
  const auto shapes = group_shapes({0, 1, 1});
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_THAT(colors(shapes, 1, 2, 1), ElementsAre(0, 0, -1));
}

// Three rounds of four: 0 meets each of the others once.
TEST(PairRounds, EveryTwoRanksOfANodeMeetOnce) {
  const auto rounds = pair_rounds({0, 0, 0, 0}, 7);
  ASSERT_EQ(rounds.size(), 3U);
  std::vector<std::vector<int>> met(4, std::vector<int>(4, 0));
  for (const PairRound& round : rounds) {
    for (std::size_t rank = 0; rank < 4; ++rank) {
      const auto other = static_cast<std::size_t>(round.partner_of_rank[rank]);
      EXPECT_EQ(round.partner_of_rank[other], static_cast<int>(rank));
      ++met[rank][other];
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(met[i][j], i == j ? 0 : 1);
  }
}

TEST(PairRounds, OfThreeRanksOneWaitsInEachRound) {
  const auto rounds = pair_rounds({0, 0, 0}, 7);
  ASSERT_EQ(rounds.size(), 3U);
  for (const PairRound& round : rounds) {
    EXPECT_EQ(std::count(round.partner_of_rank.begin(), round.partner_of_rank.end(), -1), 1);
  }
}

TEST(PairRounds, AcrossNodesTheSameNumbersMeet) {
  const auto rounds = pair_rounds({0, 0, 1, 1}, 7);
  ASSERT_EQ(rounds.size(), 2U);
  EXPECT_EQ(rounds[1].tier, Tier::inter_node);
  EXPECT_THAT(rounds[1].partner_of_rank, ElementsAre(2, 3, 0, 1));
}

TEST(PairRounds, OneRankMeetsNobody) { EXPECT_THAT(pair_rounds({0}, 7), IsEmpty()); }

// Four ranks: pairs 0 1 and 2 3 are neighbours, 0 2 and 1 3 are not.
TEST(GroupShapes, StridedGroupsLieAsFarApartAsTheyCan) {
  const auto plain = group_shapes({0, 0, 0, 0}), all = group_shapes({0, 0, 0, 0}, true);
  ASSERT_EQ(all.size(), plain.size() + 1);
  EXPECT_EQ(all.back().stride, 2);
  EXPECT_EQ(all.back().placement.group_size, 2);
  EXPECT_EQ(all.back().placement.groups_per_node, 2);
  EXPECT_EQ(all.back().color_of_rank, (std::vector{0, 1, 0, 1}));
}

TEST(GroupShapes, StridedGroupsStayOnTheirNode) {
  const auto shapes = group_shapes({0, 0, 0, 0, 1, 1, 1, 1}, true);
  EXPECT_EQ(shapes.back().color_of_rank, (std::vector{0, 1, 0, 1, 2, 3, 2, 3}));
}

}  // namespace
}  // namespace meshwright::calibrate
