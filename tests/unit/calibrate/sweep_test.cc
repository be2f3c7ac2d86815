// SPDX-License-Identifier: Apache-2.0
#include "calibrate/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

using ::testing::ElementsAre;

TEST(Sweep, PayloadsDoubleFromOneKibibyte) {
  EXPECT_THAT(payloads(kibibytes(4)), ElementsAre(kibibytes(1), kibibytes(2), kibibytes(4)));
  EXPECT_EQ(payloads(mebibytes(64)).size(), 17U);  // 2^10 .. 2^26
}

TEST(Sweep, TheLargestProductComesFirstAndOnce) {
  const auto ordered =
      ordered_gemms({{.shape = {1, 2, 2, 2}}, {.shape = {1, 8, 8, 8}}, {.shape = {1, 2, 2, 2}}});
  ASSERT_EQ(ordered.size(), 2U);
  EXPECT_EQ(ordered[0].shape.m, 8);
}

// y (m x n) = x (m x k) w (k x n); dx (m x k) = dy w^T; dw (k x n) = x^T dy.
TEST(Sweep, TrainingRunsThreeProductsOfAWeight) {
  const auto variants = training_variants({1, 10, 20, 30});
  EXPECT_EQ(variants[0], (GemmVariant{.shape = {1, 10, 20, 30}}));
  EXPECT_EQ(variants[1], (GemmVariant{.shape = {1, 10, 30, 20}, .transpose_b = true}));
  EXPECT_EQ(variants[2],
            (GemmVariant{.shape = {1, 30, 20, 10}, .transpose_a = true, .accumulate = true}));
}

TEST(Sweep, OneNodeOfFourHasPairsAndAllFour) {
  const auto plans = group_plans(node_numbers({"a", "a", "a", "a"}));
  ASSERT_EQ(plans.size(), 2U);
  EXPECT_THAT(plans[0].color_of_rank, ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(plans[1].color_of_rank, ElementsAre(0, 0, 0, 0));
}

TEST(Sweep, ARankLeftOverWaits) {
  const auto plans = group_plans(node_numbers({"a", "a", "a"}));
  ASSERT_EQ(plans.size(), 2U);  // 2 and 3
  EXPECT_THAT(plans[0].color_of_rank, ElementsAre(0, 0, -1));
}

TEST(Sweep, OneRankHasNoGroups) { EXPECT_TRUE(group_plans(node_numbers({"a"})).empty()); }

// Two nodes of two: pairs inside both nodes at once; across, one rank of each node, then all four.
TEST(Sweep, TwoNodesAreMeasuredInsideAndAcross) {
  const auto plans = group_plans(node_numbers({"a", "a", "b", "b"}));
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].tier, Tier::intra_node);
  EXPECT_THAT(plans[0].color_of_rank, ElementsAre(0, 0, 2, 2));
  EXPECT_EQ(plans[1].tier, Tier::inter_node);
  EXPECT_THAT(plans[1].color_of_rank, ElementsAre(0, -1, 0, -1));
  EXPECT_THAT(plans[2].color_of_rank, ElementsAre(0, 0, 0, 0));
}

}  // namespace
}  // namespace meshwright::calibrate
