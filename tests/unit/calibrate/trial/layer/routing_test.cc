// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/routing.h"

#include <gtest/gtest.h>

#include <cmath>

namespace meshwright::calibrate {
namespace {

using Ints = std::vector<std::int32_t>;

MixtureOfExperts four_experts() { return {.num_moe_experts = 4, .moe_router_topk = 2}; }

// Logits 0 and ln 3: e^0 = 1 and 3, so 1/4 and 3/4.
TEST(Routing, ATokenGoesToTheLargestLogitsWithTheirSoftmax) {
  const Routes r = routes_by_logits(four_experts(), {0.0F, -5.0F, std::log(3.0F), -6.0F});
  EXPECT_EQ(r.experts, (Ints{2, 0}));
  EXPECT_FLOAT_EQ(r.probabilities[0], 0.75F);
  EXPECT_FLOAT_EQ(r.probabilities[1], 0.25F);
}

// Groups {0, 1} and {2, 3}, of which one is open; with one group topk / 1 = 2 experts count: sums
// 5 + 0 and 3 + 3.
TEST(Routing, ExpertsLieInTheBestGroups) {
  MixtureOfExperts moe = four_experts();
  moe.moe_router_num_groups = 2;
  moe.moe_router_group_topk = 1;
  EXPECT_EQ(routes_by_logits(moe, {5.0F, 0.0F, 3.0F, 3.0F}).experts, (Ints{2, 3}));
}

// Position 1 takes 2 and 3, position 3 takes 6 and 7 of 4 in turn: 2 and 3 again.
TEST(Routing, InTurnEveryExpertGetsAsMany) {
  const std::vector<float> logits(8, 0.0F);
  EXPECT_EQ(routes_in_turn(four_experts(), logits, {1, 3}).experts, (Ints{2, 3, 2, 3}));
  EXPECT_EQ(routes_in_turn(four_experts(), logits, {0, 1}).experts, (Ints{0, 1, 2, 3}));
}

// p = (1/4, 3/4), g = (1, 0): mean 1/4, so 1/4 * 3/4 and 3/4 * -1/4.
TEST(Routing, TheGradientOfLogitsIsTheSoftmaxsAtTheChosenExperts) {
  const Routes routes{{3, 1}, {0.25F, 0.75F}};
  EXPECT_EQ(logits_gradient(four_experts(), routes, {1.0F, 0.0F}),
            (std::vector<float>{0.0F, -0.1875F, 0.0F, 0.1875F}));
}

TEST(Routing, CopiesStandByExpertInTheTokensOrder) {
  const Routes routes{{2, 0, 0, 1}, {0.5F, 0.5F, 0.5F, 0.5F}};
  const Copies copies = copies_of(four_experts(), routes);
  EXPECT_EQ(copies.choices, (Ints{1, 2, 3, 0}));
  EXPECT_EQ(copies.of_expert, (std::vector<std::int64_t>{2, 1, 1, 0}));
}

// Three tokens of one expert: 3 / 4 * 2 = 1.5 are 2 places each. Of expert 0's three copies the two
// likeliest stay, in the tokens' order; the other experts' places are empty.
TEST(Routing, ACapacityDropsTheLeastLikelyAndLeavesEmptyPlaces) {
  MixtureOfExperts moe = four_experts();
  moe.moe_router_topk = 1;
  moe.moe_expert_capacity_factor = 2.0;
  const Copies copies = copies_of(moe, {{0, 0, 0}, {0.6F, 0.1F, 0.9F}});
  EXPECT_EQ(copies.choices, (Ints{0, 2, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(copies.of_expert, (std::vector<std::int64_t>{2, 2, 2, 2}));
}

}  // namespace
}  // namespace meshwright::calibrate
