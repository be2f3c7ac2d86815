// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/calibrate/backends/cpu/one_core.h"

namespace meshwright::calibrate::cpu {
namespace {

using Ints = std::vector<std::int32_t>;
using Floats = std::vector<float>;

constexpr RouterShape kOneToken{.tokens = 1, .experts = 4, .topk = 2};

Ints chosen_of(const Floats& logits, const RouterShape& shape) {
  Ints chosen(static_cast<std::size_t>(shape.tokens * shape.topk));
  one_core().top_k(logits.data(), chosen.data(), shape);
  return chosen;
}

// Logits 0 and ln 3: e^0 = 1 and 3, so 1/4 and 3/4.
TEST(RouterKernels, ATokenGoesToTheLargestLogitsWithTheirSoftmax) {
  const Floats logits{0.0F, -5.0F, std::log(3.0F), -6.0F};
  const Ints chosen = chosen_of(logits, kOneToken);
  EXPECT_EQ(chosen, (Ints{2, 0}));
  Floats p(2);
  one_core().chosen_softmax(logits.data(), chosen.data(), p.data(), kOneToken);
  EXPECT_FLOAT_EQ(p[0], 0.75F);
  EXPECT_FLOAT_EQ(p[1], 0.25F);
}

TEST(RouterKernels, OfEqualLogitsTheFirstAreChosen) {
  EXPECT_EQ(chosen_of({1.0F, 2.0F, 2.0F, 2.0F}, kOneToken), (Ints{1, 2}));
}

// Groups {0, 1} and {2, 3}, of which one is open; with one group topk / 1 = 2 experts count: sums
// 5 + 0 and 3 + 3.
TEST(RouterKernels, ExpertsLieInTheBestGroups) {
  RouterShape shape = kOneToken;
  shape.groups = 2;
  shape.group_topk = 1;
  EXPECT_EQ(chosen_of({5.0F, 0.0F, 3.0F, 3.0F}, shape), (Ints{2, 3}));
}

// p = (1/4, 3/4), g = (1, 0): mean 1/4, so 1/4 * 3/4 and 3/4 * -1/4.
TEST(RouterKernels, TheGradientOfLogitsIsTheSoftmaxsAtTheChosenExperts) {
  const Ints chosen{3, 1};
  const Floats p{0.25F, 0.75F}, dp{1.0F, 0.0F};
  Floats dlogits(4, 9.0F);
  one_core().chosen_softmax_backward(chosen.data(), p.data(), dp.data(), dlogits.data(), kOneToken);
  EXPECT_EQ(dlogits, (Floats{0.0F, -0.1875F, 0.0F, 0.1875F}));
}

// Tokens 0, 1 and 2 choose 2 0, 0 1 and 2 1: expert 0 gets the copies 1 and 2, expert 1 3 and 5.
TEST(RouterKernels, CopiesStandByExpertInTheTokensOrder) {
  const RouterShape shape{.tokens = 3, .experts = 4, .topk = 2};
  const Ints chosen{2, 0, 0, 1, 2, 1};
  Ints order(6), tokens(6), counts(4);
  one_core().order_by_expert(chosen.data(), order.data(), tokens.data(), counts.data(), shape);
  EXPECT_EQ(order, (Ints{1, 2, 3, 5, 0, 4}));
  EXPECT_EQ(tokens, (Ints{0, 1, 1, 2, 0, 2}));
  EXPECT_EQ(counts, (Ints{2, 2, 2, 0}));
}

// Rows of log 4 - 1 and log 2 - 0, half of their sum beside 7.
TEST(RouterKernels, TheLossIsAddedUp) {
  const Floats sum_exp{4.0F, 2.0F}, target{1.0F, 0.0F};
  float loss = 7.0F;
  one_core().add_cross_entropy(sum_exp.data(), target.data(), &loss, 0.5F, 2);
  EXPECT_FLOAT_EQ(loss, 7.0F + 0.5F * (std::log(8.0F) - 1.0F));
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
