// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/routing.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

using Ints = std::vector<std::int32_t>;

MixtureOfExperts four_experts() { return {.num_moe_experts = 4, .moe_router_topk = 2}; }

// Position 1 takes 2 and 3, position 3 takes 6 and 7 of 4 in turn: 2 and 3 again.
TEST(Routing, InTurnEveryExpertGetsAsMany) {
  EXPECT_EQ(experts_in_turn(four_experts(), {1, 3}), (Ints{2, 3, 2, 3}));
  EXPECT_EQ(experts_in_turn(four_experts(), {0, 1}), (Ints{0, 1, 2, 3}));
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
