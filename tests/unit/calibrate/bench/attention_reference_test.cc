// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/attention_reference.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>

#include "calibrate/bench/attention_bench.h"

namespace meshwright::calibrate {
namespace {

using OperandNumbers = std::vector<double>;
OperandNumber numbers_of(const OperandNumbers& numbers) {
  return [&numbers](std::int64_t i) { return numbers[static_cast<std::size_t>(i)]; };
}

AttentionCall tiny_attention(std::int64_t heads, std::int64_t groups, std::int64_t positions,
                             std::int64_t width) {
  AttentionCall call;
  call.heads = heads;
  call.query_groups = groups;
  call.positions = positions;
  call.head_dim = width;
  return call;
}

// One head of width 1, queries 1, keys 0 and ln 3, values 2 and 6, scale 1. Row 0 sees key 0: 2.
// Row 1 has probabilities 1/4 and 3/4: 0.5 + 4.5 = 5. Without a mask row 0 is 5 as well.
TEST(AttentionReference, IsSoftmaxOverTheKeysThatAQuerySees) {
  AttentionCall call = tiny_attention(1, 1, 2, 1);
  const OperandNumbers q{1, 1}, k{0, std::numbers::ln2 + std::log(1.5)}, v{2, 6}, none{0, 0};
  const AttentionReference causal(call, numbers_of(q), numbers_of(k), numbers_of(v),
                                  numbers_of(none));
  EXPECT_NEAR(causal.output(0, 0, 0, 0).value, 2.0, 1e-12);
  EXPECT_NEAR(causal.output(0, 0, 1, 0).value, 5.0, 1e-12);
  // 2^-7 of 5, and the least.
  EXPECT_NEAR(causal.output(0, 0, 1, 0).tolerance, 5.0 / 128 + 1e-6, 1e-12);
  call.causal = false;
  const AttentionReference whole(call, numbers_of(q), numbers_of(k), numbers_of(v),
                                 numbers_of(none));
  EXPECT_NEAR(whole.output(0, 0, 0, 0).value, 5.0, 1e-12);
}

// 4 query heads over 2 groups, 3 positions of width 2: gradients of sum(do * o) by differences.
class AttentionGradients : public testing::Test {
 protected:
  static constexpr std::int64_t kHeads = 4, kGroups = 2, kPositions = 3, kWidth = 2;
  AttentionGradients() {
    call_.scale = 0.7F;
    for (std::size_t i = 0; i < q_.size(); ++i) {
      q_[i] = std::sin(1.0 + static_cast<double>(i));
      d_o_[i] = std::cos(2.0 * static_cast<double>(i));
    }
    for (std::size_t i = 0; i < k_.size(); ++i) {
      k_[i] = std::sin(3.0 * static_cast<double>(i));
      v_[i] = std::cos(0.5 + static_cast<double>(i));
    }
  }
  [[nodiscard]] AttentionReference reference() const {
    return {call_, numbers_of(q_), numbers_of(k_), numbers_of(v_), numbers_of(d_o_)};
  }
  [[nodiscard]] double weighted_output() const {
    double sum = 0.0;
    for (std::int64_t head = 0; head < kHeads; ++head) {
      for (std::int64_t query = 0; query < kPositions; ++query) {
        for (std::int64_t d = 0; d < kWidth; ++d) {
          const auto at = static_cast<std::size_t>((head * kPositions + query) * kWidth + d);
          sum += d_o_[at] * reference().output(0, head, query, d).value;
        }
      }
    }
    return sum;
  }
  double slope(double& number) const {
    constexpr double kStep = 1e-5;
    const double before = number;
    number = before + kStep;
    const double above = weighted_output();
    number = before - kStep;
    const double below = weighted_output();
    number = before;
    return (above - below) / (2.0 * kStep);
  }

  AttentionCall call_ = tiny_attention(kHeads, kGroups, kPositions, kWidth);
  mutable OperandNumbers q_ = OperandNumbers(kHeads * kPositions * kWidth), d_o_ = q_;
  mutable OperandNumbers k_ = OperandNumbers(kGroups * kPositions * kWidth), v_ = k_;
};

TEST_F(AttentionGradients, OfQueriesAreTheSlopes) {
  for (const std::int64_t head : {0, 3}) {
    for (std::int64_t query = 0; query < kPositions; ++query) {
      double& number = q_[static_cast<std::size_t>((head * kPositions + query) * kWidth + 1)];
      EXPECT_NEAR(reference().query_gradient(0, head, query, 1).value, slope(number), 1e-8);
    }
  }
}

TEST_F(AttentionGradients, OfTheLastKeyAndValueAreTheSlopesOverAllHeadsOfTheirGroup) {
  for (const std::int64_t group : {0, 1}) {
    const auto at = static_cast<std::size_t>((group * kPositions + kPositions - 1) * kWidth);
    EXPECT_NEAR(reference().last_key_gradient(0, group, 0).value, slope(k_[at]), 1e-8);
    EXPECT_NEAR(reference().last_value_gradient(0, group, 0).value, slope(v_[at]), 1e-8);
  }
}

// 2 sequences, 4 heads, 2 groups, 8 positions of 16: q and o of 1,024 numbers, k and v of 512, each
// 2 bytes, and 64 statistics: 6,144 + 256. Backward twice the operands, statistics and row sums of
// 64 numbers each, and dq's 1,024 sums in fp32: 12,288 + 512 + 4,096.
TEST(AttentionMemory, CountsOperandsAndSums) {
  AttentionShape shape{.batch = 2, .heads = 4, .query_groups = 2, .positions = 8, .head_dim = 16};
  EXPECT_EQ(attention_memory(shape, Precision::bf16), bytes(6400));
  shape.backward = true;
  EXPECT_EQ(attention_memory(shape, Precision::bf16), bytes(16'896));
}

TEST(AttentionCall, ScoresAreScaledByTheRootOfTheWidth) {
  const AttentionShape shape{.heads = 8, .query_groups = 8, .positions = 64, .head_dim = 64};
  EXPECT_FLOAT_EQ(attention_call(shape, Precision::fp16).scale, 0.125F);
}

}  // namespace
}  // namespace meshwright::calibrate
