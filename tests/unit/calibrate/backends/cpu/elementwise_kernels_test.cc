// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

constexpr std::int64_t kElementRows = 4;
constexpr std::int64_t kElementCols = 21;
constexpr auto kElementCount = static_cast<std::size_t>(kElementRows * kElementCols);

double gelu(double v) {
  const double u = std::sqrt(2.0 / std::acos(-1.0)) * (v + 0.044715 * v * v * v);
  return 0.5 * v * (1.0 + std::tanh(u));
}
double relu(double v) { return std::max(v, 0.0); }

using Forward = void (Compute::*)(ConstNumbers, const float*, Numbers, std::int64_t, std::int64_t);
using Backward = void (Compute::*)(ConstNumbers, ConstNumbers, const float*, Numbers, float*,
                                   std::int64_t, std::int64_t);

void expect_activation(double (*exact)(double), Forward forward, Backward backward) {
  const auto x = values(kElementRows * kElementCols, 1, 4.0F), bias = values(kElementCols, 2),
             dy = values(kElementRows * kElementCols, 3);
  std::vector<float> y(kElementCount), dx(kElementCount), dbias(kElementCols, 0.5F);
  std::vector<double> expected_dbias(kElementCols, 0.5);
  (one_core().*forward)(x.data(), bias.data(), y.data(), kElementRows, kElementCols);
  (one_core().*backward)(dy.data(), x.data(), bias.data(), dx.data(), dbias.data(), kElementRows,
                         kElementCols);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < kElementCount; ++i) {
    const double v = static_cast<double>(x[i]) + static_cast<double>(bias[i % kElementCols]);
    const double slope = (exact(v + kStep) - exact(v - kStep)) / (2 * kStep);
    ASSERT_NEAR(y[i], exact(v), 3e-6) << v;
    ASSERT_NEAR(dx[i], dy[i] * slope, 3e-6) << v;
    expected_dbias[i % kElementCols] += dy[i] * slope;
  }
  for (std::size_t j = 0; j < dbias.size(); ++j) EXPECT_NEAR(dbias[j], expected_dbias[j], 1e-5);

  (one_core().*forward)(x.data(), nullptr, y.data(), kElementRows, kElementCols);
  (one_core().*backward)(dy.data(), x.data(), nullptr, dx.data(), nullptr, kElementRows,
                         kElementCols);
  EXPECT_NEAR(y[5], exact(x[5]), 3e-6);
}

TEST(ElementwiseKernels, GeluAndItsSlopeAreTheTanhApproximation) {
  expect_activation(gelu, &Compute::bias_gelu_forward, &Compute::bias_gelu_backward);
}

TEST(ElementwiseKernels, ReluAndItsSlope) {
  expect_activation(relu, &Compute::bias_relu_forward, &Compute::bias_relu_backward);
}

double silu(double v) { return v / (1.0 + std::exp(-v)); }

// A row of x is kElementCols gates and kElementCols values: y = act(gate) * value, so dgate = dy *
// value * act'(gate) and dvalue = dy * act(gate).
void expect_gated(double (*exact)(double), Forward forward, Backward backward) {
  const auto x = values(kElementRows * 2 * kElementCols, 1, 4.0F),
             bias = values(2 * kElementCols, 2), dy = values(kElementRows * kElementCols, 3);
  std::vector<float> y(kElementCount), dx(2 * kElementCount), dbias(2 * kElementCols, 0.5F);
  std::vector<double> expected_dbias(2 * kElementCols, 0.5);
  (one_core().*forward)(x.data(), bias.data(), y.data(), kElementRows, kElementCols);
  (one_core().*backward)(dy.data(), x.data(), bias.data(), dx.data(), dbias.data(), kElementRows,
                         kElementCols);
  constexpr double kStep = 1e-5;
  for (std::size_t i = 0; i < kElementCount; ++i) {
    const std::size_t j = i % kElementCols, at = i / kElementCols * 2 * kElementCols + j;
    const double gate = static_cast<double>(x[at]) + static_cast<double>(bias[j]);
    const double value =
        static_cast<double>(x[at + kElementCols]) + static_cast<double>(bias[j + kElementCols]);
    const double slope = (exact(gate + kStep) - exact(gate - kStep)) / (2 * kStep);
    ASSERT_NEAR(y[i], exact(gate) * value, 1e-5) << gate;
    ASSERT_NEAR(dx[at], dy[i] * value * slope, 1e-5) << gate;
    ASSERT_NEAR(dx[at + kElementCols], dy[i] * exact(gate), 1e-5) << gate;
    expected_dbias[j] += dy[i] * value * slope;
    expected_dbias[j + kElementCols] += dy[i] * exact(gate);
  }
  for (std::size_t j = 0; j < dbias.size(); ++j) EXPECT_NEAR(dbias[j], expected_dbias[j], 2e-5);
  (one_core().*forward)(x.data(), nullptr, y.data(), kElementRows, kElementCols);
  (one_core().*backward)(dy.data(), x.data(), nullptr, dx.data(), nullptr, kElementRows,
                         kElementCols);
  EXPECT_NEAR(y[5], exact(x[5]) * static_cast<double>(x[5 + kElementCols]), 1e-5);
}

TEST(ElementwiseKernels, SwigluAndGegluGateTheirValues) {
  expect_gated(silu, &Compute::bias_swiglu_forward, &Compute::bias_swiglu_backward);
  expect_gated(gelu, &Compute::bias_geglu_forward, &Compute::bias_geglu_backward);
}

// A gate has no lower limit; what was clamped takes no gradient. Two rows of two gates, two values.
TEST(ElementwiseKernels, ClampedGatesAndValuesTakeNoGradient) {
  const std::vector<float> x{1, -9, 2, -3, 4, 0.5F, -1, 9}, bias{1, 0, 0, 1},
      dy{1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> y(8), dx = dy, dbias{1, 1, 1, 1};  // dx in place
  one_core().clamp_gated_forward(x.data(), bias.data(), y.data(), 2.0F, 2, 2);
  // With the bias: 2 -9 | 2 -2 and 5 0.5 | -1 10.
  EXPECT_EQ(y, (std::vector<float>{2, -9, 2, -2, 2, 0.5F, -1, 2}));
  one_core().clamp_gated_backward(dx.data(), x.data(), bias.data(), dx.data(), dbias.data(), 2.0F,
                                  2, 2);
  EXPECT_EQ(dx, (std::vector<float>{1, 2, 3, 4, 0, 6, 7, 0}));
  EXPECT_EQ(dbias, (std::vector<float>{2, 9, 11, 5}));  // 1 + 1, 1 + 2 + 6, 1 + 3 + 7, 1 + 4
  one_core().clamp_gated_forward(x.data(), nullptr, y.data(), 2.0F, 2, 2);
  EXPECT_EQ(y, (std::vector<float>{1, -9, 2, -2, 2, 0.5F, -1, 2}));
}

TEST(ElementwiseKernels, BiasIsAddedToEveryRowAndItsGradientIsTheColumnSum) {
  std::vector<float> y{1, 2, 3, 4, 5, 6};
  const std::vector<float> bias{10, 20, 30};
  one_core().add_bias(y.data(), bias.data(), 2, 3);
  EXPECT_EQ(y, (std::vector<float>{11, 22, 33, 14, 25, 36}));
  std::vector<float> dbias{1, 1, 1};
  one_core().bias_backward(y.data(), dbias.data(), 2, 3);
  EXPECT_EQ(dbias, (std::vector<float>{26, 48, 70}));  // 1 + 11 + 14, 1 + 22 + 25, 1 + 33 + 36
}

TEST(ElementwiseKernels, AddMayWriteOverAnOperand) {
  std::vector<float> a{1, 2, 3};
  const std::vector<float> b{4, 5, 6};
  one_core().add(a.data(), b.data(), a.data(), 3);
  EXPECT_EQ(a, (std::vector<float>{5, 7, 9}));
}

TEST(ElementwiseKernels, Bf16RoundsToNearestEvenAndKeepsInfinityAndNan) {
  // 1 + 2^-8 lies half-way between 1 (0x3F80, even) and 1 + 2^-7 (0x3F81); 1 + 3 * 2^-8 half-way
  // between 0x3F81 and 0x3F82 (even).
  const std::vector<float> in{1.0F,
                              1.00390625F,
                              1.01171875F,
                              -2.0F,
                              std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::uint16_t> out(in.size());
  one_core().convert(out.data(), Precision::bf16, in.data(), static_cast<std::int64_t>(in.size()));
  EXPECT_EQ(out[0], 0x3F80);
  EXPECT_EQ(out[1], 0x3F80);
  EXPECT_EQ(out[2], 0x3F82);
  EXPECT_EQ(out[3], 0xC000);
  EXPECT_EQ(out[4], 0x7F80);
  EXPECT_GT(out[5] & 0x7FFF, 0x7F80);
}

TEST(ElementwiseKernels, RowsAreScaledAndMultiplied) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6}, scale{2, -1}, b{1, 1, 1, 0, 2, 0};
  std::vector<float> y(6), dots{10, 20};
  one_core().scale_rows(x.data(), scale.data(), y.data(), 2, 3);
  EXPECT_EQ(y, (std::vector<float>{2, 4, 6, -4, -5, -6}));
  one_core().row_dots(x.data(), b.data(), dots.data(), 2, 3);
  EXPECT_EQ(dots, (std::vector<float>{16, 30}));  // 10 + 1 + 2 + 3, 20 + 2 * 5
}

// Algorithm 1 of the Adam paper, step 1 from zero moments: the bias corrections cancel the factors
// 1 - beta, so the step is lr * g / (|g| + epsilon), 0.01 against the gradient's sign.
TEST(ElementwiseKernels, FirstAdamStepIsTheLearningRateAgainstTheSignOfTheGradient) {
  std::vector<float> w{1.0F, 1.0F}, m(2), v(2);
  const std::vector<float> g{0.5F, -3.0F};
  AdamStep step;
  step.learning_rate = 0.01F;
  one_core().adam(w.data(), g.data(), m.data(), v.data(), 2, step);
  EXPECT_NEAR(w[0], 0.99, 1e-6);
  EXPECT_NEAR(w[1], 1.01, 1e-6);
  EXPECT_NEAR(m[1], -0.3, 1e-6);   // 0.1 * -3
  EXPECT_NEAR(v[1], 0.009, 1e-6);  // 0.001 * 9; in fp32 1 - 0.999 is 0.00100005
}

TEST(ElementwiseKernels, LaterAdamStepsEqualTheAlgorithmInDoublePrecision) {
  std::vector<float> w{0.3F}, m(1), v(1);
  double wd = w[0], md = 0.0, vd = 0.0;
  AdamStep step;
  step.weight_decay = 0.1F;
  for (step.step = 1; step.step <= 5; ++step.step) {
    const std::vector<float> g{0.2F * static_cast<float>(step.step) - 0.5F};
    one_core().adam(w.data(), g.data(), m.data(), v.data(), 1, step);
    const double gd = g[0];
    md = 0.9 * md + 0.1 * gd;
    vd = 0.999 * vd + 0.001 * gd * gd;
    const double m_hat = md / (1 - std::pow(0.9, step.step));
    const double v_hat = vd / (1 - std::pow(0.999, step.step));
    wd = wd * (1 - 1e-3 * 0.1) - 1e-3 * m_hat / (std::sqrt(v_hat) + 1e-8);
  }
  EXPECT_NEAR(w[0], wd, 1e-6);
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
