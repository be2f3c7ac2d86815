// SPDX-License-Identifier: Apache-2.0
// What a product's bench asks the device for, and which results it believes.
#include "calibrate/bench/gemm_bench.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "calibrate/bench/sample_data.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

GemmCall gemm_asked_for(const GemmVariant& variant, Precision precision) {
  IdleCompute compute;
  make_gemm_bench(compute, variant, precision)->start(1);
  return compute.gemms.at(0);
}

std::vector<GemmVariant> products_of_a_weight() { return training_variants({1, 64, 32, 48}); }

TEST(GemmBench, ResultsAreOfTheWidthThatMegatronWrites) {
  const auto variants = products_of_a_weight();
  EXPECT_EQ(gemm_asked_for(variants[0], Precision::bf16).result, Precision::bf16);
  EXPECT_EQ(gemm_asked_for(variants[1], Precision::bf16).result, Precision::bf16);
  EXPECT_EQ(gemm_asked_for(variants[2], Precision::bf16).result, Precision::fp32);  // main_grad
  EXPECT_EQ(gemm_asked_for(variants[0], Precision::fp16).result, Precision::fp16);
  EXPECT_EQ(gemm_asked_for(variants[0], Precision::fp8).result, Precision::bf16);
  EXPECT_EQ(gemm_asked_for(variants[0], Precision::tf32).result, Precision::fp32);
}

// fp8 units take op(a) = a and op(b) = b': any other order would be transposed within the time.
TEST(GemmBench, Fp8OperandsAreHandedOverInTheOrderOfItsUnits) {
  for (const GemmVariant& variant : products_of_a_weight()) {
    const GemmCall call = gemm_asked_for(variant, Precision::fp8);
    EXPECT_FALSE(call.transpose_a);
    EXPECT_TRUE(call.transpose_b);
  }
  EXPECT_FALSE(gemm_asked_for(products_of_a_weight()[0], Precision::bf16).transpose_b);
}

TEST(GemmBench, Fp8SumsFastInForwardAlone) {
  const auto variants = products_of_a_weight();
  EXPECT_TRUE(gemm_asked_for(variants[0], Precision::fp8).fast_accumulation);
  EXPECT_FALSE(gemm_asked_for(variants[1], Precision::fp8).fast_accumulation);
  EXPECT_FALSE(gemm_asked_for(variants[2], Precision::fp8).fast_accumulation);
  EXPECT_FALSE(gemm_asked_for(variants[0], Precision::bf16).fast_accumulation);
}

TEST(GemmBench, AsksForAllRepetitionsAndWaitsOnlyInRun) {
  IdleCompute compute;
  const auto bench = make_gemm_bench(compute, {.shape = {1, 16, 16, 16}}, Precision::bf16);
  compute.asked.clear();
  bench->start(3);
  EXPECT_THAT(compute.asked, testing::ElementsAre("gemm", "gemm", "gemm"));
  bench->run(1);
  EXPECT_EQ(compute.asked.back(), "synchronize");
}

// The device has a cache of 50 MB and the arrays are 3 x 2 MiB. Copies must fill twice the cache,
// each 6 MiB from the next, and each call has a copy of its own.
TEST(GemmBench, OperandsAreMetInMemory) {
  IdleCompute compute;
  compute.description.cache = mebibytes(50);
  compute.description.free_memory = gibibytes(70);
  const auto bench = make_gemm_bench(compute, {.shape = {1, 1024, 1024, 1024}}, Precision::bf16);
  bench->start(20);
  const std::size_t copies = 1 + 17;  // 100 / 6 = 16.7
  EXPECT_NE(compute.gemms[0].a, compute.gemms[1].a);
  EXPECT_NE(compute.gemms[0].a, compute.gemms[copies - 1].a);
  EXPECT_EQ(compute.gemms[0].a, compute.gemms[copies].a);
  EXPECT_FALSE(bench->is_warm());
}

// 2 MiB of weights take turns, 51 of them so that the others are twice the cache; the input and the
// result do not.
TEST(GemmBench, FreshOperandsStayWhereTheyAre) {
  IdleCompute compute;
  compute.description.cache = mebibytes(50);
  compute.description.free_memory = gibibytes(70);
  const GemmVariant variant{.shape = {1, 1024, 1024, 1024}, .fresh = {.a = true, .c = true}};
  const auto bench = make_gemm_bench(compute, variant, Precision::bf16);
  bench->start(60);
  EXPECT_EQ(compute.gemms[0].a, compute.gemms[1].a);
  EXPECT_EQ(compute.gemms[0].c, compute.gemms[1].c);
  EXPECT_NE(compute.gemms[0].b, compute.gemms[50].b);
  EXPECT_EQ(compute.gemms[0].b, compute.gemms[51].b);  // 1 + 100 / 2
  EXPECT_FALSE(bench->is_warm());
}

TEST(ColdCopies, CountTheFootprintAgainstTheCacheAndTheMemory) {
  DeviceDescription device;
  device.free_memory = gibibytes(64);
  EXPECT_EQ(cold_copies(mebibytes(16), device), 1U + 8U);  // an unknown cache: 64 MiB
  device.cache = mebibytes(126);                           // a B200's
  EXPECT_EQ(cold_copies(mebibytes(16), device), 1U + 16U);
  EXPECT_EQ(cold_copies(gibibytes(1), device), 2U);
  EXPECT_EQ(cold_copies(kibibytes(4), device), kMostCopies);
  EXPECT_TRUE(stays_in_cache(kibibytes(4), kMostCopies, device));  // 4 MiB of 126
  EXPECT_FALSE(stays_in_cache(mebibytes(16), 17, device));
  device.free_memory = mebibytes(256);  // room for two of 16 MiB
  EXPECT_EQ(cold_copies(mebibytes(16), device), 2U);
  EXPECT_TRUE(stays_in_cache(mebibytes(16), 2, device));
}

// The number that a code of e4m3 means (OCP 8-bit floating point specification, 5.2): a sign, 4
// bits of exponent with bias 7, 3 of mantissa; exponent 0 is subnormal, 0x7F and 0xFF are no
// numbers.
double from_e4m3(unsigned code) {
  const double sign = (code & 0x80U) != 0 ? -1.0 : 1.0;
  const int exponent = static_cast<int>((code >> 3U) & 0xFU);
  const double fraction = (code & 7U) / 8.0;
  if ((code & 0x7FU) == 0x7FU) return NAN;
  if (exponent == 0) return sign * std::ldexp(fraction, -6);
  return sign * std::ldexp(1.0 + fraction, exponent - 7);
}

double value_of(std::uint8_t code) {
  static const std::array<double, 256> values = [] {
    std::array<double, 256> result{};
    for (unsigned i = 0; i < result.size(); ++i) result.at(i) = from_e4m3(i);
    return result;
  }();
  return values[code];
}

// Each number of the format and its code; zero has two.
const std::map<double, std::uint8_t>& e4m3_codes() {
  static const std::map<double, std::uint8_t> codes = [] {
    std::map<double, std::uint8_t> result;
    for (unsigned code = 0; code < 256; ++code) {
      const double x = from_e4m3(code);
      if (!std::isnan(x)) result.emplace(x, static_cast<std::uint8_t>(code));
    }
    return result;
  }();
  return codes;
}

// Multiplies as fp8 units do: sums of 32 products, each added to a register that keeps 14 bits and
// drops the rest; precise ones go to a wide register every 128 products; results of 8 bits. `shift`
// takes b's rows from so many columns further.
class NarrowSums : public IdleCompute {
 public:
  std::int64_t shift = 0;
  int bits = 14;
  bool always_fast = false;

  void convert(void* to, Precision, const float* from, std::int64_t count) override {
    auto* codes = static_cast<std::uint8_t*>(to);
    for (std::int64_t i = 0; i < count; ++i) codes[i] = e4m3_codes().at(from[i]);
  }
  void gemm(const GemmCall& c) override {
    const auto* a = static_cast<const std::uint8_t*>(c.a);
    const auto* b = static_cast<const std::uint8_t*>(c.b);
    const bool fast = c.fast_accumulation || always_fast;
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const double sum = summed(a + i * c.k, b + (j + shift) % c.n * c.k, c.k, fast);
        if (c.result == Precision::fp32) {
          static_cast<float*>(c.c)[i * c.n + j] = static_cast<float>(sum);
          continue;
        }
        const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
        static_cast<std::uint16_t*>(c.c)[i * c.n + j] =
            static_cast<std::uint16_t>((wide + 0x8000U) >> 16U);
      }
    }
  }

 private:
  [[nodiscard]] double summed(const std::uint8_t* a, const std::uint8_t* b, std::int64_t k,
                              bool fast) const {
    double wide = 0.0, sum = 0.0;
    for (std::int64_t l = 0; l < k; l += 32) {
      for (std::int64_t e = l; e < std::min(k, l + 32); ++e) sum += value_of(a[e]) * value_of(b[e]);
      if (sum != 0.0) {
        const double unit = std::ldexp(1.0, std::ilogb(sum) - bits + 1);
        sum = std::trunc(sum / unit) * unit;
      }
      if (fast || (l + 32) % 128 != 0) continue;
      wide += sum;
      sum = 0.0;
    }
    return wide + sum;
  }
};

std::string checked(NarrowSums& compute, std::int64_t k) {
  return make_gemm_bench(compute, {.shape = {1, 16, 16, k}}, Precision::fp8)->check();
}

// dx = dy w^T and dw = x^T dy, which Transformer Engine sums precisely.
std::vector<std::string> checked_gradients(NarrowSums& compute, std::int64_t k) {
  std::vector<std::string> wrong;
  for (const bool weight : {false, true}) {
    const GemmVariant variant{.shape = {1, 16, 16, k},
                              .transpose_a = weight,
                              .transpose_b = !weight,
                              .accumulate = weight};
    wrong.push_back(make_gemm_bench(compute, variant, Precision::fp8)->check());
  }
  return wrong;
}

TEST(GemmBench, BelievesFp8sFastSumsAtEveryDepth) {
  NarrowSums compute;
  for (const std::int64_t k : {64, 512, 4096, 16384}) EXPECT_EQ(checked(compute, k), "") << k;
}

TEST(GemmBench, BelievesFp8sPreciseSumsAtEveryDepth) {
  NarrowSums compute;
  for (const std::int64_t k : {16, 64, 512, 4096, 16384}) {
    EXPECT_THAT(checked_gradients(compute, k), testing::Each("")) << k;
  }
}

// A library that sums fast where precise sums were asked for computes another, faster product. The
// gradient of the weights is fp32 and shows it from 4,096 products on, that of the input from
// 8,192.
TEST(GemmBench, SeesFastSumsWherePreciseOnesWereAskedFor) {
  NarrowSums compute;
  compute.always_fast = true;
  EXPECT_THAT(checked_gradients(compute, 4096).back(),
              testing::HasSubstr("precise sums were asked for"));
  for (const std::int64_t k : {8192, 16384}) {
    EXPECT_THAT(checked_gradients(compute, k),
                testing::Each(testing::HasSubstr("precise sums were asked for")))
        << k;
  }
}

TEST(GemmBench, DoesNotBelieveOtherEntriesOrTooFewBits) {
  NarrowSums wrong;
  wrong.shift = 1;
  EXPECT_THAT(checked(wrong, 4096), testing::HasSubstr("was expected"));
  EXPECT_THAT(checked(wrong, 16384), testing::HasSubstr("was expected"));
  EXPECT_THAT(checked_gradients(wrong, 4096), testing::Each(testing::HasSubstr("was expected")));
  NarrowSums few;
  few.bits = 6;
  EXPECT_THAT(checked(few, 4096), testing::HasSubstr("was expected"));
}

// Of 64 products 50 are 72/64 and 14 are 81/64: (3600 + 1134) / 64 = 4734 / 64. Each operand is a
// number of e4m3, and 128 of the products, 9,468 units of 1/64, fit into 14 bits (16,384).
TEST(TellingSum, IsExactInFourteenBitsOver128ProductsButNotOver4096) {
  EXPECT_DOUBLE_EQ(telling_sum(64), 4734.0 / 64.0);
  double sum = 0.0;
  for (std::int64_t k = 0; k < 80; ++k) {
    for (const bool second : {false, true}) {
      EXPECT_TRUE(e4m3_codes().contains(telling_operand(second, k)));
    }
    sum += telling_operand(false, k) * telling_operand(true, k);
  }
  EXPECT_DOUBLE_EQ(sum, telling_sum(80));
  EXPECT_EQ(64.0 * telling_sum(128), 9468.0);
  EXPECT_GT(64.0 * telling_sum(shortest_telling_sum(Precision::fp32)), 16384.0);
}

// 32 products are 2367 units. In 14 bits, with unit u from 8192 u to 16384 u, they lose 2367 mod u:
// 1, 3, 7, 15, 31, 63 units at u = 2, 4, 8, 16, 32, 64. Over 8192 products, 605,952 units, that is
// (1 * 16384 + 3 * 32768 + 7 * 65536 + 15 * 131072 + 31 * 262144 + 63 * 81664) / 2367 = 6680 units,
// 1.1 %. A rounding to 8 bits moves the result by at most 2^-8, so it is still 0.71 % off.
TEST(TellingSum, TheToleranceIsBelowWhatAFastSumLoses) {
  const double sum = telling_sum(8192);
  EXPECT_EQ(64.0 * sum, 605'952.0);
  for (const int unit : {2, 4, 8, 16, 32, 64}) EXPECT_EQ(2367 % unit, unit - 1);
  EXPECT_DOUBLE_EQ(telling_tolerance(8192, Precision::bf16), (0x1p-10 + 0x1p-8) * sum);
  EXPECT_LT(telling_tolerance(8192, Precision::bf16), (6680.0 / 605'952.0 - 0x1p-8) * sum);
  EXPECT_DOUBLE_EQ(telling_tolerance(4096, Precision::fp32), 0x1p-10 * telling_sum(4096));
}

TEST(Fp8Samples, RoundToTheNearestNumberOfTheFormat) {
  EXPECT_EQ(nearest_e4m3(0.0), 0.0F);
  EXPECT_EQ(nearest_e4m3(1.0), 1.0F);
  EXPECT_EQ(nearest_e4m3(1.0625), 1.0F);   // between 1 and 1.125: the even mantissa
  EXPECT_EQ(nearest_e4m3(1.1875), 1.25F);  // between 1.125 and 1.25
  EXPECT_EQ(nearest_e4m3(-17.5), -18.0F);  // 16, 18, 20, ...
  EXPECT_EQ(nearest_e4m3(447.0), 448.0F);  // 384, 416, 448
  EXPECT_EQ(nearest_e4m3(1e6), 448.0F);    // the largest
  EXPECT_EQ(nearest_e4m3(-1e6), -448.0F);
  EXPECT_EQ(nearest_e4m3(0x1p-9), 0x1p-9F);  // the smallest subnormal
  EXPECT_EQ(nearest_e4m3(0x1p-11), 0.0F);
}

// Of 65,537 numbers: all of the format, next to no zeros (a share of 8e-6 is expected), each of the
// 8 mantissas 9 to 17 % (the small ones more often, as in any normal numbers), as many of either
// sign, a dozen binades or more.
TEST(Fp8Samples, SpreadOverTheFormatWithFullMantissasAndNoZeros) {
  std::array<int, 8> mantissas{};
  int zeros = 0, negative = 0;
  std::set<int> exponents;
  const auto count = static_cast<double>(sample_period());
  for (std::size_t i = 0; i < sample_period(); ++i) {
    const double x = fp8_sample_number(i, 1);
    const auto code = e4m3_codes().find(x);
    ASSERT_NE(code, e4m3_codes().end()) << x;
    zeros += x == 0.0 ? 1 : 0;
    negative += x < 0.0 ? 1 : 0;
    ++mantissas.at(code->second & 7U);
    if (x != 0.0) exponents.insert(std::ilogb(x));
  }
  EXPECT_LE(zeros, 5);
  EXPECT_NEAR(negative / count, 0.5, 0.01);
  for (const int each : mantissas) EXPECT_NEAR(each / count, 0.13, 0.04);
  EXPECT_GE(exponents.size(), 12U);
  EXPECT_EQ(*exponents.rbegin(), 8);
  EXPECT_EQ(fp8_sample_number(0, 1), fp8_sample_number(sample_period(), 1));
}

TEST(SixteenBits, AreReadAsWhatTheyAre) {
  EXPECT_DOUBLE_EQ(from_bf16(0x3FC0), 1.5);
  EXPECT_DOUBLE_EQ(from_bf16(0xC000), -2.0);
  EXPECT_DOUBLE_EQ(from_fp16(0x3E00), 1.5);
  EXPECT_DOUBLE_EQ(from_fp16(0xC000), -2.0);
  EXPECT_DOUBLE_EQ(from_fp16(0x0001), 0x1p-24);
  EXPECT_TRUE(std::isinf(from_fp16(0x7C00)));
}

}  // namespace
}  // namespace meshwright::calibrate
