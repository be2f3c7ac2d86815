// SPDX-License-Identifier: Apache-2.0
// GEMMs in every precision that the device has against a double-precision triple loop on the
// numbers as they are after rounding to that precision.
#include "sim/base/job.h"
#include "tests/device/both_devices.h"

namespace meshwright::calibrate {
namespace {

struct Case {
  std::int64_t batch, m, n, k;
  bool transpose_a, transpose_b;
  float alpha, beta;
};

const std::vector<Case> kCases{
    {1, 5, 7, 3, false, false, 1, 0},     {1, 5, 7, 3, true, false, 1, 0},
    {1, 5, 7, 3, false, true, 1, 0},      {1, 5, 7, 3, true, true, 1, 1},
    {4, 16, 8, 33, false, true, 0.5F, 0}, {4, 16, 8, 33, true, false, 0.5F, 1},
    {1, 64, 48, 96, false, false, 1, 1},  {6, 1, 9, 4, false, false, 2, 0.5F}};

// fp8 wants multiples of 16.
const std::vector<Case> kEvenCases{
    {1, 64, 48, 96, false, false, 1, 1},  {1, 64, 48, 96, true, false, 1, 0},
    {1, 64, 48, 96, false, true, 1, 0},   {1, 64, 48, 96, true, true, 0.5F, 1},
    {3, 16, 32, 144, false, false, 1, 0}, {3, 16, 32, 144, true, true, 1, 0}};

// Multiples of 1/4 up to 2: exact in every format, e4m3 (3 bits of mantissa) included, so products
// are exact and only the fp32 sum rounds.
Floats exact_values(std::int64_t count, std::uint32_t seed) {
  Floats v = values(count, seed, 2.0F);
  for (float& x : v) x = std::round(4.0F * x) / 4.0F;
  return v;
}

double entry(const Case& c, const Floats& a, const Floats& b, std::int64_t i, std::int64_t row,
             std::int64_t col) {
  double sum = 0.0;
  for (std::int64_t l = 0; l < c.k; ++l) {
    const std::int64_t ia = i * c.m * c.k + (c.transpose_a ? l * c.m + row : row * c.k + l);
    const std::int64_t ib = i * c.k * c.n + (c.transpose_b ? col * c.k + l : l * c.n + col);
    sum += static_cast<double>(a[static_cast<std::size_t>(ia)]) * b[static_cast<std::size_t>(ib)];
  }
  return sum;
}

class GpuGemm : public OnBothDevices {
 protected:
  Floats product(const Case& c, Precision precision, const Floats& a, const Floats& b,
                 const Floats& start) {
    Arrays arrays(*gpu_);
    float* out = arrays.out(start);
    const DeviceArray wide_a(*gpu_, a.size() * 4), wide_b(*gpu_, b.size() * 4);
    gpu_->convert(wide_a.data(), precision, arrays.in(a), static_cast<std::int64_t>(a.size()));
    gpu_->convert(wide_b.data(), precision, arrays.in(b), static_cast<std::int64_t>(b.size()));
    gpu_->gemm({.batch = c.batch,
                .m = c.m,
                .n = c.n,
                .k = c.k,
                .transpose_a = c.transpose_a,
                .transpose_b = c.transpose_b,
                .precision = precision,
                .alpha = c.alpha,
                .beta = c.beta,
                .a = wide_a.data(),
                .b = wide_b.data(),
                .c = out,
                .stride_a = c.m * c.k,
                .stride_b = c.k * c.n,
                .stride_c = c.m * c.n});
    return arrays.results()[0];
  }

  void expect_exact(const Case& c, Precision precision) {
    const Floats a = exact_values(c.batch * c.m * c.k, 1), b = exact_values(c.batch * c.k * c.n, 2);
    const Floats start = exact_values(c.batch * c.m * c.n, 3);
    const Floats is = product(c, precision, a, b, start);
    for (std::int64_t at = 0; at < c.batch * c.m * c.n; ++at) {
      const auto i = static_cast<std::size_t>(at);
      const double sum = entry(c, a, b, at / (c.m * c.n), at / c.n % c.m, at % c.n);
      ASSERT_NEAR(is[i], c.alpha * sum + static_cast<double>(c.beta) * start[i], 1e-4)
          << name_of(precision) << " case " << c.batch << " " << c.m << " " << c.n << " " << c.k
          << " at " << at;
    }
  }

  void expect_all(Precision precision) {
    if (!gpu_->supports(precision)) GTEST_SKIP() << gpu_->describe().name << " has no such GEMM";
    for (const Case& c : kEvenCases) expect_exact(c, precision);
    if (precision == Precision::fp8) return;
    for (const Case& c : kCases) expect_exact(c, precision);
  }
};

TEST_F(GpuGemm, Fp32) { expect_all(Precision::fp32); }
TEST_F(GpuGemm, Tf32) { expect_all(Precision::tf32); }
TEST_F(GpuGemm, Fp16) { expect_all(Precision::fp16); }
TEST_F(GpuGemm, Bf16) { expect_all(Precision::bf16); }
TEST_F(GpuGemm, Fp8) { expect_all(Precision::fp8); }

// 1 + 2^-12 needs 12 bits of mantissa, tf32 keeps 10: only true fp32 gives 64 * 2^-12 more than 64.
TEST_F(GpuGemm, Fp32DoesNotRoundItsOperandsToTf32) {
  const Case c{1, 64, 64, 64, false, false, 1, 0};
  const Floats a(64 * 64, 1.0F + 1.0F / 4096.0F), one(64 * 64, 1.0F), zero(64 * 64);
  EXPECT_NEAR(product(c, Precision::fp32, a, one, zero)[0], 64.0 + 64.0 / 4096.0, 1e-4);
}

// The search for the best algorithm runs candidates: an accumulating product must add once.
TEST_F(GpuGemm, TheFirstCallOfAShapeAccumulatesOnce) {
  const Case c{1, 128, 128, 128, false, false, 1, 1};
  const Floats one(128 * 128, 1.0F), start(128 * 128, 5.0F);
  EXPECT_EQ(product(c, Precision::fp32, one, one, start)[77], 133.0F);  // 5 + 128
}

TEST_F(GpuGemm, PointersIntoTheMiddleOfAnArrayWork) {
  const Floats numbers = exact_values(1 + 64 * 64, 1);
  Arrays arrays(*gpu_);
  const float* a = arrays.in(numbers);
  float* out = arrays.out(Floats(1 + 64 * 64));
  gpu_->gemm({.m = 64, .n = 64, .k = 64, .a = a, .b = a, .c = out});
  gpu_->gemm({.m = 64, .n = 64, .k = 64, .a = a + 1, .b = a, .c = out + 1});
  const Case c{1, 64, 64, 64, false, false, 1, 0};
  const Floats shifted(numbers.begin() + 1, numbers.end());
  EXPECT_NEAR(arrays.results()[0][1], entry(c, shifted, numbers, 0, 0, 0), 1e-4);
}

}  // namespace
}  // namespace meshwright::calibrate
