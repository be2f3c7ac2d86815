// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::int64_t kMatrices = 2;
constexpr std::int64_t kPositions = 19;
constexpr auto kCount = static_cast<std::size_t>(kMatrices * kPositions * kPositions);
constexpr float kScale = 0.25F;

// softmax(scale * x) of the first `valid` numbers.
std::vector<double> softmax_reference(const float* x, std::int64_t valid) {
  std::vector<double> y(static_cast<std::size_t>(kPositions), 0.0);
  double sum = 0.0;
  for (std::int64_t j = 0; j < valid; ++j) sum += std::exp(static_cast<double>(kScale) * x[j]);
  for (std::int64_t j = 0; j < valid; ++j) {
    y[static_cast<std::size_t>(j)] = std::exp(static_cast<double>(kScale) * x[j]) / sum;
  }
  return y;
}

TEST(AttentionKernels, SoftmaxMasksTheFutureAndEqualsTheDefinition) {
  const auto x = values(kMatrices * kPositions * kPositions, 1, 8.0F);
  std::vector<float> y = x;  // in place
  one_core().causal_softmax_forward(y.data(), y.data(), kScale, kMatrices, kPositions, kPositions,
                                    0);
  for (std::int64_t row = 0; row < kMatrices * kPositions; ++row) {
    const auto expected = softmax_reference(x.data() + row * kPositions, row % kPositions + 1);
    for (std::int64_t j = 0; j < kPositions; ++j) {
      ASSERT_NEAR(y[static_cast<std::size_t>(row * kPositions + j)],
                  expected[static_cast<std::size_t>(j)], 1e-6);
    }
  }
}

TEST(AttentionKernels, SoftmaxDoesNotOverflowOnLargeScores) {
  std::vector<float> y{0, 0, 1e6F, 1e6F};
  one_core().causal_softmax_forward(y.data(), y.data(), 1.0F, 1, 2, 2, 0);
  EXPECT_EQ(y, (std::vector<float>{1, 0, 0.5F, 0.5F}));
}

TEST(AttentionKernels, SoftmaxBackwardEqualsCentralDifferences) {
  const auto x = values(kMatrices * kPositions * kPositions, 1, 4.0F);
  const auto dy = values(kMatrices * kPositions * kPositions, 2);
  std::vector<float> y(kCount), dx = dy;  // in place
  one_core().causal_softmax_forward(x.data(), y.data(), kScale, kMatrices, kPositions, kPositions,
                                    0);
  one_core().softmax_backward(dx.data(), y.data(), dx.data(), kScale, kMatrices, kPositions);
  constexpr float kStep = 1.0F / 128.0F;  // a power of two, so that x +- step is exact
  for (const std::int64_t row : {std::int64_t{0}, std::int64_t{7}, 2 * kPositions - 1}) {
    const std::int64_t valid = row % kPositions + 1;
    for (std::int64_t j = 0; j < kPositions; ++j) {
      std::vector<float> up(x.begin() + row * kPositions, x.begin() + (row + 1) * kPositions);
      auto down = up;
      up[static_cast<std::size_t>(j)] += kStep;
      down[static_cast<std::size_t>(j)] -= kStep;
      const auto y_up = softmax_reference(up.data(), valid);
      const auto y_down = softmax_reference(down.data(), valid);
      double expected = 0.0;
      for (std::size_t l = 0; l < y_up.size(); ++l) {
        expected += static_cast<double>(dy[static_cast<std::size_t>(row * kPositions) + l]) *
                    (y_up[l] - y_down[l]) / (2.0 * kStep);
      }
      ASSERT_NEAR(dx[static_cast<std::size_t>(row * kPositions + j)], expected, 1e-5);
    }
  }
}

TEST(AttentionKernels, QueriesAfterCachedKeysSeeThemAndThemselves) {
  // Rows 17 and 18 of the square matrix are two queries at positions 17 and 18.
  const auto x = values(kPositions * kPositions, 1, 8.0F);
  std::vector<float> square(x.size()), two(static_cast<std::size_t>(2 * kPositions));
  one_core().causal_softmax_forward(x.data(), square.data(), kScale, 1, kPositions, kPositions, 0);
  one_core().causal_softmax_forward(x.data() + 17 * kPositions, two.data(), kScale, 1, 2,
                                    kPositions, 17);
  EXPECT_EQ(two, std::vector<float>(square.begin() + 17 * kPositions, square.end()));
}

// Two groups of two heads, two sequences: matrices are (group, sequence, head). One query sees two
// keys with scores 0 and ln 2. Beside a sink of ln s the probabilities are 1 and 2 over 3 + s.
TEST(AttentionKernels, SinksTakeTheirShareAndGetTheirGradient) {
  const float ln2 = std::log(2.0F);
  const std::vector<float> logits{0.0F, ln2, std::log(3.0F), std::log(5.0F)};
  const AttentionSinks sinks{logits.data(), 2, 2};
  std::vector<float> y;
  for (int matrix = 0; matrix < 8; ++matrix) y.insert(y.end(), {0.0F, ln2});
  one_core().causal_softmax_forward(y.data(), y.data(), 1.0F, 8, 1, 2, 1, 0, 0, sinks);
  const std::vector<double> s{1, 2, 1, 2, 3, 5, 3, 5};  // of each matrix
  for (std::size_t m = 0; m < s.size(); ++m) {
    EXPECT_NEAR(y[2 * m], 1.0 / (3.0 + s[m]), 1e-6);
    EXPECT_NEAR(y[2 * m + 1], 2.0 / (3.0 + s[m]), 1e-6);
  }
  // d(dy . y) / d ln s = -s / (3 + s) * (dy . y), here dy = (3, 3) and dy . y = 9 / (3 + s); two
  // sequences add up.
  const std::vector<float> dy(y.size(), 3.0F);
  std::vector<float> dlogits(4, 1.0F);
  one_core().sinks_backward(dy.data(), y.data(), sinks, dlogits.data(), 8, 2, 1);
  for (std::size_t head = 0; head < 4; ++head) {
    const double of = std::exp(static_cast<double>(logits[head]));
    EXPECT_NEAR(dlogits[head], 1.0 - 2.0 * 9.0 * of / ((3.0 + of) * (3.0 + of)), 1e-5);
  }
}

TEST(AttentionKernels, ASinkAboveAllScoresTakesAlmostAll) {
  const float sink = 1e6F;
  std::vector<float> y{1, 0, 1, 1};
  one_core().causal_softmax_forward(y.data(), y.data(), 1.0F, 1, 2, 2, 0, 0, 0, {&sink, 1, 1});
  for (const float p : y) EXPECT_LT(p, 1e-30F);
}

// Blocks of 3 heads, of which 2 turn; 2 positions of 4 numbers; the pairs are (0, 2) and (1, 3).
TEST(AttentionKernels, RotaryTurnsPairsOfTheFirstHeadsAndTurnsThemBack) {
  const float third = std::acos(-1.0F) / 3.0F;
  // Position 0 does not turn; position 1 turns pair 0 by a quarter and pair 1 by 60 degrees.
  const std::vector<float> table{1, 1, 0, 0, 0, std::cos(third), 1, std::sin(third)};
  std::vector<float> x(2 * 3 * 2 * 4);
  std::iota(x.begin(), x.end(), 1.0F);
  const std::vector<float> before = x;
  one_core().rotary(x.data(), table.data(), 2, 3, 2, 2, 4, false);
  EXPECT_EQ(x[0], before[0]);  // position 0
  // Head 1 of block 0 at position 1 holds 13, 14, 15, 16: (13, 15) by 90 degrees is (-15, 13), and
  // (14, 16) by 60 degrees 14/2 - 16 * 0.866 = -6.856.
  EXPECT_NEAR(x[12], -15.0F, 1e-5);
  EXPECT_NEAR(x[14], 13.0F, 1e-5);
  EXPECT_NEAR(x[13], 7.0F - 16.0F * std::sin(third), 1e-5);
  EXPECT_EQ(x[20], before[20]);          // head 2 is a value
  EXPECT_NE(x[24 + 4], before[24 + 4]);  // block 1, head 0, position 1
  one_core().rotary(x.data(), table.data(), 2, 3, 2, 2, 4, true);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], before[i], 1e-5);
}

TEST(AttentionKernels, ToHeadsSplitsAFusedQkvAndFromHeadsPutsItBack) {
  constexpr std::int64_t kS = 3, kB = 2, kBlocks = 3, kHeads = 2, kWidth = 4;
  std::vector<float> x(static_cast<std::size_t>(kS * kB * kBlocks * kHeads * kWidth));
  std::iota(x.begin(), x.end(), 0.0F);
  std::vector<float> heads(x.size()), back(x.size());
  one_core().to_heads(x.data(), heads.data(), kS, kB, kBlocks, kHeads, kWidth);
  // Position 2 of sequence 1, block v (2), head 0, number 3: token 2*2+1 = 5 starts at
  // 5 * 3*2*4 = 120; inside it (2*2 + 0)*4 + 3 = 19. By heads: block 2, sequence 1, head 0 is
  // matrix (2*2 + 1)*2 + 0 = 10 of 3 x 4 numbers: 10*12 + 2*4 + 3 = 131.
  EXPECT_EQ(heads[131], x[139]);
  one_core().from_heads(heads.data(), back.data(), kS, kB, kBlocks, kHeads, kWidth);
  EXPECT_EQ(back, x);
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
