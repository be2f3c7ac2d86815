// SPDX-License-Identifier: Apache-2.0
// Sizes are not multiples of a warp, a block (256) or a chunk (1024), and reach beyond each.
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

constexpr std::int64_t kRows = 37;
constexpr std::int64_t kCols = 1301;

class Kernels : public OnBothDevices {};

TEST_F(Kernels, LayerNormForwardAndBackward) {
  expect_same(
      [](Compute& c, Arrays& a) {
        const float *x = a.in(values(kRows * kCols, 1)), *gamma = a.in(values(kCols, 2));
        const float *beta = a.in(values(kCols, 3)), *dy = a.in(values(kRows * kCols, 4));
        float *y = a.out(zeros(kRows * kCols)), *mean = a.out(zeros(kRows));
        float *rstd = a.out(zeros(kRows)), *dx = a.out(zeros(kRows * kCols));
        float *dgamma = a.out(values(kCols, 5)), *dbeta = a.out(values(kCols, 6));
        c.layer_norm_forward(x, gamma, beta, y, mean, rstd, kRows, kCols);
        c.layer_norm_backward(dy, x, gamma, mean, rstd, dx, dgamma, dbeta, kRows, kCols);
      },
      3e-5);
}

TEST_F(Kernels, LayerNormBackwardMayWriteOverItsInput) {
  expect_same(
      [](Compute& c, Arrays& a) {
        const float *x = a.in(values(kRows * kCols, 1)), *gamma = a.in(values(kCols, 2));
        float *y = a.in(zeros(kRows * kCols)), *mean = a.in(zeros(kRows));
        float *rstd = a.in(zeros(kRows)), *dx = a.out(values(kRows * kCols, 4));
        float *dgamma = a.out(zeros(kCols)), *dbeta = a.out(zeros(kCols));
        c.layer_norm_forward(x, gamma, gamma, y, mean, rstd, kRows, kCols);
        c.layer_norm_backward(dx, x, gamma, mean, rstd, dx, dgamma, dbeta, kRows, kCols);
      },
      3e-5);
}

TEST_F(Kernels, RmsNormForwardAndBackward) {
  expect_same(
      [](Compute& c, Arrays& a) {
        const float *x = a.in(values(kRows * kCols, 1)), *gamma = a.in(values(kCols, 2));
        const float* dy = a.in(values(kRows * kCols, 4));
        float *y = a.out(zeros(kRows * kCols)), *rstd = a.out(zeros(kRows));
        float *dx = a.out(zeros(kRows * kCols)), *dgamma = a.out(values(kCols, 5));
        c.rms_norm_forward(x, gamma, y, rstd, kRows, kCols);
        c.rms_norm_backward(dy, x, gamma, rstd, dx, dgamma, kRows, kCols);
      },
      3e-5);
}

TEST_F(Kernels, GatedActivationsWithAndWithoutBias) {
  expect_same([](Compute& c, Arrays& a) {
    const float* x = a.in(values(kRows * 2 * kCols, 1, 4.0F));
    const float *bias = a.in(values(2 * kCols, 2)), *dy = a.in(values(kRows * kCols, 3));
    for (const float* b : {bias, static_cast<const float*>(nullptr)}) {
      float* dbias = b == nullptr ? nullptr : a.out(values(2 * kCols, 4));
      c.bias_swiglu_forward(x, b, a.out(zeros(kRows * kCols)), kRows, kCols);
      c.bias_swiglu_backward(dy, x, b, a.out(zeros(kRows * 2 * kCols)), dbias, kRows, kCols);
      c.bias_geglu_forward(x, b, a.out(zeros(kRows * kCols)), kRows, kCols);
      c.bias_geglu_backward(dy, x, b, a.out(zeros(kRows * 2 * kCols)), dbias, kRows, kCols);
    }
  });
}

TEST_F(Kernels, RowsAreScaledAndMultiplied) {
  expect_same(
      [](Compute& c, Arrays& a) {
        const float *x = a.in(values(kRows * kCols, 1)), *b = a.in(values(kRows * kCols, 2));
        const float* scale = a.in(values(kRows, 3));
        c.scale_rows(x, scale, a.out(zeros(kRows * kCols)), kRows, kCols);
        c.row_dots(x, b, a.out(values(kRows, 4)), kRows, kCols);
      },
      3e-5);
}

using ActivationForward = void (Compute::*)(ConstNumbers, const float*, Numbers, std::int64_t,
                                            std::int64_t);
using ActivationBackward = void (Compute::*)(ConstNumbers, ConstNumbers, const float*, Numbers,
                                             float*, std::int64_t, std::int64_t);

void activations(Compute& c, Arrays& a, ActivationForward forward, ActivationBackward backward) {
  const float *x = a.in(values(kRows * kCols, 1, 4.0F)), *bias = a.in(values(kCols, 2));
  const float* dy = a.in(values(kRows * kCols, 3));
  for (const float* b : {bias, static_cast<const float*>(nullptr)}) {
    (c.*forward)(x, b, a.out(zeros(kRows * kCols)), kRows, kCols);
    float* dbias = b == nullptr ? nullptr : a.out(values(kCols, 4));
    (c.*backward)(dy, x, b, a.out(zeros(kRows * kCols)), dbias, kRows, kCols);
  }
}

TEST_F(Kernels, GeluWithAndWithoutBias) {
  expect_same([](Compute& c, Arrays& a) {
    activations(c, a, &Compute::bias_gelu_forward, &Compute::bias_gelu_backward);
  });
}

TEST_F(Kernels, ReluWithAndWithoutBias) {
  expect_same([](Compute& c, Arrays& a) {
    activations(c, a, &Compute::bias_relu_forward, &Compute::bias_relu_backward);
  });
}

TEST_F(Kernels, BiasItsGradientOverManyRowsAndSums) {
  constexpr std::int64_t kManyRows = 2100;  // several tiles of 256 rows
  expect_same(
      [](Compute& c, Arrays& a) {
        const float* bias = a.in(values(45, 2));
        float *y = a.out(values(kManyRows * 45, 1)), *dbias = a.out(values(45, 3));
        c.add_bias(y, bias, kManyRows, 45);
        c.bias_backward(y, dbias, kManyRows, 45);
        c.add(y, y, y, kManyRows * 45);
      },
      1e-4);
}

TEST_F(Kernels, CausalSoftmaxForwardAndBackwardInPlace) {
  for (const std::int64_t positions : {std::int64_t{19}, std::int64_t{300}}) {
    expect_same([positions](Compute& c, Arrays& a) {
      const std::int64_t count = 3 * positions * positions;
      float *y = a.out(values(count, 1, 8.0F)), *dx = a.out(values(count, 2));
      c.causal_softmax_forward(y, y, 0.25F, 3, positions, positions, 0);
      c.softmax_backward(dx, y, dx, 0.25F, 3, positions);
    });
  }
}

TEST_F(Kernels, SoftmaxOfQueriesBehindCachedKeys) {
  expect_same([](Compute& c, Arrays& a) {
    // 3 queries at positions 290..292 of 300 keys.
    c.causal_softmax_forward(a.in(values(4 * 3 * 300, 1, 8.0F)), a.out(zeros(4 * 3 * 300)), 0.25F,
                             4, 3, 300, 290);
  });
}

TEST_F(Kernels, SoftmaxBesideSinks) {
  expect_same([](Compute& c, Arrays& a) {
    // 2 groups, 3 sequences, 2 heads: 12 matrices of 31 queries and keys.
    constexpr std::int64_t kMatrices = 12, kPositions = 31;
    const AttentionSinks sinks{a.in(values(4, 3, 4.0F)), 3, 2};
    const std::int64_t count = kMatrices * kPositions * kPositions;
    float* y = a.out(values(count, 1, 8.0F));
    c.causal_softmax_forward(y, y, 0.25F, kMatrices, kPositions, kPositions, 0, 7, 0, sinks);
    c.sinks_backward(a.in(values(count, 2)), y, sinks, a.out(values(4, 4)), kMatrices, kPositions,
                     kPositions);
  });
}

TEST_F(Kernels, ClampedGatesAndValues) {
  expect_same([](Compute& c, Arrays& a) {
    const float* x = a.in(values(kRows * 2 * kCols, 1, 4.0F));
    const float* bias = a.in(values(2 * kCols, 2));
    for (const float* b : {bias, static_cast<const float*>(nullptr)}) {
      float* dbias = b == nullptr ? nullptr : a.out(values(2 * kCols, 4));
      c.clamp_gated_forward(x, b, a.out(zeros(kRows * 2 * kCols)), 1.5F, kRows, kCols);
      float* dx = a.out(values(kRows * 2 * kCols, 3));
      c.clamp_gated_backward(dx, x, b, dx, dbias, 1.5F, kRows, kCols);
    }
  });
}

TEST_F(Kernels, RotaryThereAndBackInSomeHeads) {
  expect_same([](Compute& c, Arrays& a) {
    // 2 blocks of 4 heads, of which 3 turn; 7 positions of 24 numbers.
    const float* table = a.in(values(7 * 24, 1));
    c.rotary(a.out(values(2 * 4 * 7 * 24, 2)), table, 2, 4, 3, 7, 24, false);
    c.rotary(a.out(values(2 * 4 * 7 * 24, 3)), table, 2, 4, 3, 7, 24, true);
  });
}

TEST_F(Kernels, RowsBetweenMatricesOfDifferentWidth) {
  expect_same(
      [](Compute& c, Arrays& a) {
        c.copy_rows(a.out(values(9 * 40, 1)), 40, a.in(values(9 * 70, 2)), 70, 9, 31);
      },
      0.0);
}

TEST_F(Kernels, HeadsThereAndBack) {
  expect_same(
      [](Compute& c, Arrays& a) {
        const float* x = a.in(values(7 * 2 * 3 * 5 * 24, 1));
        float *heads = a.out(zeros(7 * 2 * 3 * 5 * 24)), *back = a.out(zeros(7 * 2 * 3 * 5 * 24));
        c.to_heads(x, heads, 7, 2, 3, 5, 24);
        c.from_heads(heads, back, 7, 2, 3, 5, 24);
      },
      0.0);
}

TEST_F(Kernels, VocabularyParallelEmbeddingWithRepeatedAndForeignTokens) {
  const std::vector<std::int32_t> tokens{4, 9, 4, 3, 400, 5, 4};
  expect_same([&](Compute& c, Arrays& a) {
    const std::int32_t* ids = a.in(tokens);
    const float *table = a.in(values(6 * kCols, 1)), *dy = a.in(values(7 * kCols, 2));
    c.embedding_forward(ids, table, a.out(zeros(7 * kCols)), 7, 4, 6, kCols);
    c.embedding_backward(ids, dy, a.out(values(6 * kCols, 3)), 7, 4, 6, kCols);
  });
}

TEST_F(Kernels, CrossEntropyOfOneRanksSlice) {
  std::vector<std::int32_t> targets;  // first, last, and before and after this rank's slice
  for (std::int32_t i = 0; i < kRows; ++i) targets.push_back(i % 3 == 0 ? 99 + i : 1400 - i);
  targets[1] = 100 + kCols - 1;
  targets[2] = 100;
  targets[4] = 100 + kCols;
  expect_same([&](Compute& c, Arrays& a) {
    const std::int32_t* ids = a.in(targets);
    float *logits = a.out(values(kRows * kCols, 1, 5.0F)), *maximum = a.out(zeros(kRows));
    float *sum = a.out(zeros(kRows)), *target = a.out(zeros(kRows));
    c.row_max(logits, maximum, kRows, kCols);
    c.exp_and_target(logits, maximum, ids, sum, target, kRows, kCols, 100);
    c.cross_entropy_backward(logits, sum, ids, 0.5F, kRows, kCols, 100);
  });
}

TEST_F(Kernels, AdamWithWeightDecayOverSeveralSteps) {
  expect_same([](Compute& c, Arrays& a) {
    float *weight = a.out(values(5000, 1)), *m = a.out(zeros(5000)), *v = a.out(zeros(5000));
    AdamStep step{.weight_decay = 0.1F};
    for (step.step = 1; step.step <= 3; ++step.step) {
      c.adam(weight, a.in(values(5000, 10U + static_cast<unsigned>(step.step))), m, v, 5000, step);
    }
  });
}

// bf16 keeps the upper half of fp32; read as pairs, equal floats are equal bits (values has no NaN
// whose comparison would hide a difference: numbers below 1 have exponents below 127).
TEST_F(Kernels, Bf16BitsAreTheCpusBits) {
  expect_same(
      [](Compute& c, Arrays& a) {
        c.convert(a.out(zeros(500)), Precision::bf16, a.in(values(1000, 1)), 1000);
      },
      0.0);
}

TEST_F(Kernels, NumbersRoundedToBf16AndWidenedAreTheCpus) {
  expect_same(
      [](Compute& c, Arrays& a) {
        c.round(a.out(values(1001, 1)), Precision::bf16, 1001);
        float* packed = a.in(zeros(501));
        c.convert(packed, Precision::bf16, a.in(values(1001, 2)), 1001);
        c.widen(a.out(zeros(1001)), packed, Precision::bf16, 1001);
      },
      0.0);
}

TEST_F(Kernels, NothingIsDoneToNothing) {
  expect_same([](Compute& c, Arrays& a) {
    float* x = a.out({1.0F});
    c.add(x, x, x, 0);
    c.add_bias(x, x, 0, 1);
    c.bias_backward(x, x, 0, 1);
    c.layer_norm_forward(x, x, x, x, x, x, 0, 1);
    c.causal_softmax_forward(x, x, 1.0F, 0, 1, 1, 0);
    c.convert(x, Precision::fp32, x, 0);
  });
}

}  // namespace
}  // namespace meshwright::calibrate
