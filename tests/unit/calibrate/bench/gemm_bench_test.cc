// SPDX-License-Identifier: Apache-2.0
// What a product's bench asks the device for, and which results it believes.
#include "calibrate/bench/gemm_bench.h"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>

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

// Multiplies as fp8 units do: sums of 32 products, each added to a register that keeps 14 bits and
// drops the rest; results of 8 bits. `shift` takes b's rows from so many columns further.
class NarrowSums : public IdleCompute {
 public:
  std::int64_t shift = 0;
  int bits = 14;

  void convert(void* to, Precision, const float* from, std::int64_t count) override {
    // One byte holds a multiple of 1/4 between -4 and 4, as e4m3 does.
    auto* bytes = static_cast<std::int8_t*>(to);
    for (std::int64_t i = 0; i < count; ++i) bytes[i] = static_cast<std::int8_t>(4.0F * from[i]);
  }
  void gemm(const GemmCall& c) override {
    const auto* a = static_cast<const std::int8_t*>(c.a);
    const auto* b = static_cast<const std::int8_t*>(c.b);
    auto* out = static_cast<std::uint16_t*>(c.c);
    for (std::int64_t i = 0; i < c.m; ++i) {
      for (std::int64_t j = 0; j < c.n; ++j) {
        const double sum = summed(a + i * c.k, b + (j + shift) % c.n * c.k, c.k);
        const auto wide = std::bit_cast<std::uint32_t>(static_cast<float>(sum));
        out[i * c.n + j] = static_cast<std::uint16_t>((wide + 0x8000U) >> 16U);
      }
    }
  }

 private:
  [[nodiscard]] double summed(const std::int8_t* a, const std::int8_t* b, std::int64_t k) const {
    double sum = 0.0;
    for (std::int64_t l = 0; l < k; l += 32) {
      for (std::int64_t e = l; e < l + 32; ++e) sum += a[e] * b[e] / 16.0;
      if (sum == 0.0) continue;
      const double unit = std::ldexp(1.0, std::ilogb(sum) - bits + 1);
      sum = std::trunc(sum / unit) * unit;
    }
    return sum;
  }
};

std::string checked(NarrowSums& compute, std::int64_t k) {
  return make_gemm_bench(compute, {.shape = {1, 32, 32, k}}, Precision::fp8)->check();
}

TEST(GemmBench, BelievesFp8sFastSumsAtEveryDepth) {
  NarrowSums compute;
  for (const std::int64_t k : {512, 4096, 16384}) EXPECT_EQ(checked(compute, k), "") << k;
}

TEST(GemmBench, DoesNotBelieveOtherEntriesOrTooFewBits) {
  NarrowSums wrong;
  wrong.shift = 1;
  EXPECT_THAT(checked(wrong, 4096), testing::HasSubstr("was expected"));
  EXPECT_THAT(checked(wrong, 16384), testing::HasSubstr("was expected"));
  NarrowSums few;
  few.bits = 6;
  EXPECT_THAT(checked(few, 4096), testing::HasSubstr("was expected"));
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
