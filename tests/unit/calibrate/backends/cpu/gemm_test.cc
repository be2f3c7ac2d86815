// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/cpu/gemm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "tests/unit/calibrate/backends/cpu/one_core.h"
#include "tests/unit/calibrate/backends/cpu/values.h"

namespace meshwright::calibrate::cpu {
namespace {

struct Case {
  std::int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
  float alpha, beta;
};

double element(const std::vector<float>& v, std::int64_t matrix, std::int64_t rows,
               std::int64_t cols, std::int64_t i, std::int64_t j, bool transposed) {
  const std::int64_t at = transposed ? j * rows + i : i * cols + j;
  return static_cast<double>(v[static_cast<std::size_t>(matrix * rows * cols + at)]);
}

std::vector<double> gemm_reference(const Case& c, const std::vector<float>& a,
                                   const std::vector<float>& b, const std::vector<float>& start) {
  std::vector<double> out(start.begin(), start.end());
  for (std::int64_t i = 0; i < c.batch; ++i) {
    for (std::int64_t cell = 0; cell < c.m * c.n; ++cell) {
      double sum = 0.0;
      for (std::int64_t l = 0; l < c.k; ++l) {
        sum += element(a, i, c.m, c.k, cell / c.n, l, c.transpose_a) *
               element(b, i, c.k, c.n, l, cell % c.n, c.transpose_b);
      }
      double& o = out[static_cast<std::size_t>(i * c.m * c.n + cell)];
      o = static_cast<double>(c.alpha) * sum + static_cast<double>(c.beta) * o;
    }
  }
  return out;
}

GemmCall call_of(const Case& c, const void* a, const void* b, float* out) {
  GemmCall call;
  call.batch = c.batch;
  call.m = c.m;
  call.n = c.n;
  call.k = c.k;
  call.transpose_a = c.transpose_a;
  call.transpose_b = c.transpose_b;
  call.alpha = c.alpha;
  call.beta = c.beta;
  call.a = a;
  call.b = b;
  call.c = out;
  call.stride_a = c.m * c.k;
  call.stride_b = c.k * c.n;
  call.stride_c = c.m * c.n;
  return call;
}

const std::vector<Case> kCases{
    {1, 5, 7, 3, false, false, 1, 0},     {1, 5, 7, 3, true, false, 1, 0},
    {1, 5, 7, 3, false, true, 1, 0},      {1, 5, 7, 3, true, true, 1, 1},
    {4, 16, 8, 33, false, true, 0.5F, 0}, {4, 16, 8, 33, true, false, 0.5F, 1},
    {1, 64, 48, 96, false, false, 1, 1},  {6, 1, 9, 4, false, false, 2, 0.5F}};

TEST(Gemm, EqualsTheTripleLoopForEveryTransposeBatchAlphaAndBeta) {
  const auto gemm = make_gemm();
  for (const Case& c : kCases) {
    const auto a = values(c.batch * c.m * c.k, 1);
    const auto b = values(c.batch * c.k * c.n, 2);
    auto out = values(c.batch * c.m * c.n, 3);
    const auto expected = gemm_reference(c, a, b, out);
    gemm->run(call_of(c, a.data(), b.data(), out.data()));
    for (std::size_t i = 0; i < out.size(); ++i) {
      // k products of numbers below 1, each rounded once: k * 2^-24 and the sums' own roundings.
      ASSERT_NEAR(static_cast<double>(out[i]), expected[i], 1e-6 * static_cast<double>(c.k));
    }
  }
}

TEST(Gemm, TheSameShapeTwiceUsesTheSecondCallsPointers) {
  const auto gemm = make_gemm();
  const Case c{1, 2, 2, 2, false, false, 1, 0};
  const std::vector<float> one{1, 0, 0, 1};
  const std::vector<float> x{1, 2, 3, 4};
  std::vector<float> first(4), second(4);
  gemm->run(call_of(c, one.data(), one.data(), first.data()));
  gemm->run(call_of(c, one.data(), x.data(), second.data()));
  EXPECT_EQ(first, one);
  EXPECT_EQ(second, x);
}

// bf16 has 8 bits of mantissa. With operands that are bf16 numbers, products are exact in fp32 and
// only the sum rounds.
TEST(Gemm, Bf16OperandsMultiplyExactlyAndAccumulateInFp32) {
  const auto gemm = make_gemm();
  if (!gemm->supports(Precision::bf16)) GTEST_SKIP() << gemm_library() << " here has no bf16 GEMM";
  for (const Case& c : kCases) {
    std::vector<std::uint16_t> a16(static_cast<std::size_t>(c.batch * c.m * c.k));
    std::vector<std::uint16_t> b16(static_cast<std::size_t>(c.batch * c.k * c.n));
    auto a = values(c.batch * c.m * c.k, 1);
    auto b = values(c.batch * c.k * c.n, 2);
    one_core().convert(a16.data(), Precision::bf16, a.data(), c.batch * c.m * c.k);
    one_core().convert(b16.data(), Precision::bf16, b.data(), c.batch * c.k * c.n);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::bit_cast<float>(a16[i] << 16U);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::bit_cast<float>(b16[i] << 16U);
    auto out = values(c.batch * c.m * c.n, 3);
    const auto expected = gemm_reference(c, a, b, out);
    auto call = call_of(c, a16.data(), b16.data(), out.data());
    call.precision = Precision::bf16;
    gemm->run(call);
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(out[i]), expected[i], 1e-6 * static_cast<double>(c.k));
    }
  }
}

}  // namespace
}  // namespace meshwright::calibrate::cpu
