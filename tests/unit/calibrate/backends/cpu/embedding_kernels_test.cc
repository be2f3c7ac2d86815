// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

TEST(EmbeddingKernels, TokensOutsideThisRanksSliceGiveZeros) {
  const std::vector<std::int32_t> tokens{4, 3, 6, 5};
  const std::vector<float> table{1, 2, 3, 4};  // rows 4 and 5, two columns
  std::vector<float> y(8, -1.0F);
  one_core().embedding_forward(tokens.data(), table.data(), y.data(), 4, 4, 2, 2);
  EXPECT_EQ(y, (std::vector<float>{1, 2, 0, 0, 0, 0, 3, 4}));
}

TEST(EmbeddingKernels, GradientsOfRepeatedTokensAddUp) {
  const std::vector<std::int32_t> tokens{4, 9, 4};
  const std::vector<float> dy{1, 2, 50, 60, 10, 20};
  std::vector<float> dtable{0.5F, 0.5F, 7, 7};
  one_core().embedding_backward(tokens.data(), dy.data(), dtable.data(), 3, 4, 2, 2);
  EXPECT_EQ(dtable, (std::vector<float>{11.5F, 22.5F, 7, 7}));  // 0.5 + 1 + 10, 0.5 + 2 + 20
}

// The vocabulary in two halves, with the caller's max and sums in between, is the cross-entropy of
// the whole vocabulary.
TEST(EmbeddingKernels, CrossEntropyOverTwoHalvesEqualsTheWhole) {
  constexpr std::int64_t kRows = 3, kHalf = 20;
  const std::vector<std::int32_t> targets{0, 39, 21};
  std::vector<float> half[2] = {values(kRows * kHalf, 1, 5.0F), values(kRows * kHalf, 2, 5.0F)};
  const std::vector<float> logits[2] = {half[0], half[1]};
  std::vector<float> maximum[2], sum[2], target[2];
  for (int r = 0; r < 2; ++r) {
    maximum[r].resize(kRows);
    sum[r].resize(kRows);
    target[r].resize(kRows);
    one_core().row_max(half[r].data(), maximum[r].data(), kRows, kHalf);
  }
  for (std::size_t i = 0; i < 3; ++i) maximum[0][i] = std::max(maximum[0][i], maximum[1][i]);
  for (int r = 0; r < 2; ++r) {
    one_core().exp_and_target(half[r].data(), maximum[0].data(), targets.data(), sum[r].data(),
                              target[r].data(), kRows, kHalf, r * kHalf);
  }
  for (std::size_t i = 0; i < 3; ++i) sum[0][i] += sum[1][i];
  for (int r = 0; r < 2; ++r) {
    one_core().cross_entropy_backward(half[r].data(), sum[0].data(), targets.data(), 0.5F, kRows,
                                      kHalf, r * kHalf);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto logit = [&](std::int64_t j) {
      return static_cast<double>(
          logits[j / kHalf][i * kHalf + static_cast<std::size_t>(j % kHalf)]);
    };
    double z = 0.0;
    for (std::int64_t j = 0; j < 2 * kHalf; ++j) z += std::exp(logit(j));
    const double loss = std::log(z) - logit(targets[i]);
    EXPECT_NEAR(std::log(sum[0][i]) - (target[0][i] + target[1][i]), loss, 1e-5);
    for (std::int64_t j = 0; j < 2 * kHalf; ++j) {
      const double expected = 0.5 * (std::exp(logit(j)) / z - (j == targets[i] ? 1.0 : 0.0));
      ASSERT_NEAR(half[j / kHalf][i * kHalf + static_cast<std::size_t>(j % kHalf)], expected, 1e-6);
    }
  }
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
