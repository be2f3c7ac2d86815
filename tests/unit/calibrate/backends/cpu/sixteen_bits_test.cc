// SPDX-License-Identifier: Apache-2.0
// Kernels on arrays of 16 bits give the fp32 kernel's numbers, rounded once.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "calibrate/backends/bf16.h"
#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

using Floats = std::vector<float>;
using Bits = std::vector<std::uint16_t>;

constexpr std::int64_t kRows = 3, kCols = 12, kNumbers = kRows * kCols;

Bits narrow(const Floats& numbers) {
  Bits bits;
  for (const float number : numbers) bits.push_back(bf16_of(number));
  return bits;
}
Floats wide(const Bits& bits) {
  Floats numbers;
  for (const std::uint16_t of_number : bits) numbers.push_back(float_of_bf16(of_number));
  return numbers;
}
ConstNumbers read(const Bits& bits) { return {bits.data(), Precision::bf16}; }
Numbers written(Bits& bits) { return {bits.data(), Precision::bf16}; }

TEST(SixteenBitKernels, ANormReadsAndWritesThem) {
  const Bits x = narrow(values(kNumbers, 1));
  const Floats x_wide = wide(x), gamma = values(kCols, 2), beta = values(kCols, 3);
  Floats mean(kRows), rstd(kRows), expected(kNumbers);
  Bits y(kNumbers);
  one_core().layer_norm_forward(x_wide.data(), gamma.data(), beta.data(), expected.data(),
                                mean.data(), rstd.data(), kRows, kCols);
  one_core().layer_norm_forward(read(x), gamma.data(), beta.data(), written(y), mean.data(),
                                rstd.data(), kRows, kCols);
  EXPECT_EQ(y, narrow(expected));
  one_core().rms_norm_forward(x_wide.data(), gamma.data(), expected.data(), rstd.data(), kRows,
                              kCols);
  one_core().rms_norm_forward(x_wide.data(), gamma.data(), written(y), rstd.data(), kRows, kCols);
  EXPECT_EQ(y, narrow(expected));
}

TEST(SixteenBitKernels, AGatedActivationsGradientIsRoundedAndItsBiasIsNot) {
  const Floats dy = values(kNumbers, 1), x = values(2 * kNumbers, 2), bias = values(2 * kCols, 3);
  Floats expected(2 * kNumbers), expected_bias(2 * kCols), dbias(2 * kCols);
  Bits dx(2 * kNumbers);
  one_core().bias_swiglu_backward(dy.data(), x.data(), bias.data(), expected.data(),
                                  expected_bias.data(), kRows, kCols);
  one_core().bias_swiglu_backward(dy.data(), x.data(), bias.data(), written(dx), dbias.data(),
                                  kRows, kCols);
  EXPECT_EQ(dx, narrow(expected));
  EXPECT_EQ(dbias, expected_bias);
}

TEST(SixteenBitKernels, ASoftmaxAndItsGradient) {
  constexpr std::int64_t kKeys = 6;
  const Floats x = values(2 * kKeys * kKeys, 1), dy = values(2 * kKeys * kKeys, 2);
  Floats expected(x.size());
  Bits y(x.size()), dx(x.size());
  one_core().causal_softmax_forward(x.data(), expected.data(), 0.5F, 2, kKeys, kKeys, 0);
  one_core().causal_softmax_forward(x.data(), written(y), 0.5F, 2, kKeys, kKeys, 0);
  EXPECT_EQ(y, narrow(expected));
  const Floats y_wide = wide(y);
  one_core().softmax_backward(dy.data(), y_wide.data(), expected.data(), 0.5F, 2, kKeys);
  one_core().softmax_backward(dy.data(), read(y), written(dx), 0.5F, 2, kKeys);
  EXPECT_EQ(dx, narrow(expected));
}

// Two heads of which the first turns: the other's numbers stay.
TEST(SixteenBitKernels, RotaryPositionsInPlace) {
  const Floats table = values(kRows * 4, 1);
  Bits x = narrow(values(2 * kRows * 4, 2));
  Floats expected = wide(x);
  one_core().rotary(expected.data(), table.data(), 1, 2, 1, kRows, 4, false);
  one_core().rotary(written(x), table.data(), 1, 2, 1, kRows, 4, false);
  EXPECT_EQ(x, narrow(expected));
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
