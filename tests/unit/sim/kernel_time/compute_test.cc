// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/compute.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

Device device_with_attention() {
  Device d;
  d.num_multiprocessors = 100;
  d.memory_bandwidth = gigabytes_per_second(1000);
  d.memory_bandwidth_fraction = 0.8;
  d.kernel_launch = microseconds(2);
  GemmModel g;
  g.peak = teraflops_per_second(100);
  d.gemm.push_back(g);
  d.attention.push_back({.head_dim = 64, .forward_fraction = 0.4, .backward_fraction = 0.3});
  d.attention.push_back({.head_dim = 128, .forward_fraction = 0.5, .backward_fraction = 0.4});
  d.kernels.push_back({"adam", gigabytes_per_second(500), 0.05, Provenance::measured});
  return d;
}

TEST(KernelCost, IsLaunchPlusBytesOverTheKernelsRate) {
  // 2 us + 1 MB / 500 GB/s = 4 us.
  const Cost c = kernel_cost("adam", bytes(1e6), device_with_attention());
  EXPECT_NEAR(c.time.value(), 4e-6, 1e-15);
  EXPECT_EQ(c.provenance, Provenance::measured);
  EXPECT_EQ(c.relative_spread, 0.05);
}

TEST(KernelCost, AnUnknownKernelStreamsAtTheMemorysRate) {
  // 2 us + 0.8 MB / (0.8 * 1000 GB/s) = 3 us.
  const Cost c = kernel_cost("rms_norm", bytes(0.8e6), device_with_attention());
  EXPECT_NEAR(c.time.value(), 3e-6, 1e-15);
  EXPECT_EQ(c.provenance, Provenance::datasheet);
}

TEST(KernelCost, NothingMovedCostsNothing) {
  EXPECT_EQ(kernel_cost("adam", bytes(0), device_with_attention()).time.value(), 0.0);
}

// 4096 queries and keys, 100 heads, width 128, not causal: 4 * 100 * 4096^2 * 128 FLOPs.
Operator attention() {
  Operator op;
  op.kind = OperatorKind::attention;
  op.batch = 100;
  op.m = op.n = 4096;
  op.k = 128;
  op.forward_flops = flops(4.0 * 100 * 4096.0 * 4096 * 128);
  op.backward_flops = op.forward_flops * 2.5;
  op.forward_bytes = bytes(1e6);
  op.backward_bytes = bytes(2e6);
  return op;
}

TEST(AttentionCost, RunsAtItsFractionOfThePeak) {
  // 8.590e11 / (0.5 * 1e14) = 17.180 ms, and 2 us launch.
  const Cost forward = forward_cost(attention(), Precision::bf16, device_with_attention());
  EXPECT_NEAR(forward.time.value(), 17.1799e-3 + 2e-6, 1e-7);
  // 2.5 times the FLOPs at 0.4: 53.687 ms.
  const BackwardCost backward =
      backward_cost(attention(), Precision::bf16, device_with_attention());
  EXPECT_NEAR(backward.input.time.value(), 53.6871e-3 + 2e-6, 1e-6);
  EXPECT_EQ(backward.weight.time.value(), 0.0);
}

// 17.180 ms in 16 bits, 0.75 of it in fp8: 12.885 ms.
TEST(AttentionCost, InFp8ItTakesTheDevicesShareOfTheTime) {
  Device d = device_with_attention();
  d.attention[1].fp8_time_factor = 0.75;
  Operator op = attention();
  EXPECT_NEAR(forward_cost(op, Precision::bf16, d).time.value(), 17.1799e-3 + 2e-6, 1e-7);
  op.narrow = true;
  EXPECT_NEAR(forward_cost(op, Precision::bf16, d).time.value(), 12.8849e-3 + 2e-6, 1e-7);
}

TEST(AttentionCost, ShortSequencesAndFewHeadsFillLess) {
  Device d = device_with_attention();
  const double full = forward_cost(attention(), Precision::bf16, d).time.value() - 2e-6;
  d.attention[1].ramp_keys = 4096;  // L / (L + ramp) = 1/2
  const double ramped = forward_cost(attention(), Precision::bf16, d).time.value() - 2e-6;
  EXPECT_NEAR(ramped / full, 2.0, 1e-9);
  d.attention[1].ramp_keys = 0;
  d.attention[1].forward_tail_waves =
      32;  // 100 heads * 32 blocks / 100 = 32 waves: x / (x + tail) = 1/2
  const double tailed = forward_cost(attention(), Precision::bf16, d).time.value() - 2e-6;
  EXPECT_NEAR(tailed / full, 2.0, 1e-9);
}

// Version 1 at half of the rate: 34.36 ms. A version that the device has no rates for runs as the
// fastest one.
TEST(AttentionCost, HasItsVersionsRate) {
  Device d = device_with_attention();
  d.attention.push_back(
      {.head_dim = 128, .version = 1, .forward_fraction = 0.25, .backward_fraction = 0.2});
  const auto forward = [&](int version) {
    return forward_cost(attention(), Precision::bf16, d, version).time.value() - 2e-6;
  };
  EXPECT_NEAR(forward(0), 17.1799e-3, 1e-7);
  EXPECT_NEAR(forward(1), 34.3597e-3, 1e-7);
  EXPECT_EQ(forward(2), forward(0));
}

TEST(AttentionCost, TakesTheNearestHeadWidth) {
  Operator op = attention();
  op.k = 80;
  op.forward_flops = flops(1e12);
  // 64 is nearer than 128: 1e12 / (0.4 * 1e14) = 25 ms.
  EXPECT_NEAR(forward_cost(op, Precision::bf16, device_with_attention()).time.value(), 25e-3 + 2e-6,
              1e-9);
}

Operator linear(bool has_weight) {
  Operator op;
  op.kind = OperatorKind::gemm;
  op.m = 2048;
  op.n = 1024;
  op.k = 512;
  op.has_weight = has_weight;
  return op;
}

TEST(BackwardCost, OfALinearLayerIsOneGemmForTheInputAndOneForTheWeight) {
  const Device d = device_with_attention();
  const BackwardCost b = backward_cost(linear(true), Precision::bf16, d);
  EXPECT_EQ(b.input.time, gemm_cost({1, 2048, 512, 1024}, Precision::bf16, d).time);
  EXPECT_EQ(b.weight.time, gemm_cost({1, 512, 1024, 2048}, Precision::bf16, d).time);
}

TEST(BackwardCost, WithoutAWeightBothGradientsAreInputs) {
  const Device d = device_with_attention();
  const BackwardCost with = backward_cost(linear(true), Precision::bf16, d);
  const BackwardCost without = backward_cost(linear(false), Precision::bf16, d);
  EXPECT_EQ(without.input.time, with.input.time + with.weight.time);
  EXPECT_EQ(without.weight.time.value(), 0.0);
}

TEST(CostSum, AddsTimesSharesSpreadsAndKeepsTheWeakestLabel) {
  const Cost a{seconds(1), 0.1, Provenance::measured};
  const Cost b{seconds(3), 0.2, Provenance::fitted};
  const Cost sum = a + b;
  EXPECT_EQ(sum.time, seconds(4));
  // (1 * 0.1 + 3 * 0.2) / 4.
  EXPECT_DOUBLE_EQ(sum.relative_spread, 0.175);
  EXPECT_EQ(sum.provenance, Provenance::fitted);
}

TEST(CostSum, AnEmptyCostChangesNothing) {
  const Cost a{seconds(1), 0.1, Provenance::measured};
  const Cost nothing{seconds(0), 0.9, Provenance::assumed};
  EXPECT_EQ((a + nothing).provenance, Provenance::measured);
  EXPECT_EQ((nothing + a).relative_spread, 0.1);
}

// fp8 units do not serve attention: its fraction is of the 16-bit peak.
TEST(AttentionCost, InAnFp8JobRunsIn16Bits) {
  Device d = device_with_attention();
  d.gemm.front().precision = Precision::bf16;
  GemmModel fp8;
  fp8.precision = Precision::fp8;
  fp8.peak = teraflops_per_second(200);
  d.gemm.push_back(fp8);
  EXPECT_EQ(forward_cost(attention(), Precision::fp8, d).time,
            forward_cost(attention(), Precision::bf16, d).time);
}

}  // namespace
}  // namespace meshwright
