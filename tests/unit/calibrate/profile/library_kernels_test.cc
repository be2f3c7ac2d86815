// SPDX-License-Identifier: Apache-2.0
// What a profile makes of points of fused attention, grouped products and casts to fp8.
#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/bench/point_bench.h"
#include "calibrate/fit/attention_fit.h"
#include "calibrate/profile/profile.h"
#include "calibrate/profile/profile_json.h"
#include "sim/operators/operators.h"
#include "tests/unit/calibrate/timed_point.h"

namespace meshwright::calibrate {
namespace {

Cluster cluster_of_one_gpu() {
  Cluster cluster;
  cluster.name = "test";
  cluster.device.name = "gpu";
  cluster.device.kind = DeviceKind::gpu;
  cluster.device.memory_bandwidth = gigabytes_per_second(1000);
  return cluster;
}

Product product_of_experts(std::int64_t rows) {
  return {Precision::bf16, {.shape = {8, rows, 1024, 2048}, .fresh = {.a = true}}};
}

// Grouped products take 2 and 8 times as long as batched ones of their sizes: 4 on the average, and
// the logarithms ln 2 and ln 8 lie ln 4 apart, a deviation of ln 4 / sqrt(2).
TEST(GroupedGemms, AreAFactorOnBatchedProducts) {
  std::vector<MeasuredPoint> points{point(timed::KernelLaunch{}, bytes(12), 1e-6)};
  for (const auto& [rows, factor] : {std::pair{128, 2.0}, std::pair{512, 8.0}}) {
    const double batched = 1e-6 * rows;
    points.push_back(point(timed::Gemm{product_of_experts(rows)}, bytes(1), batched));
    points.push_back(
        point(timed::GroupedGemm{product_of_experts(rows)}, bytes(1), factor * batched));
  }
  const Device device = assemble(points, cluster_of_one_gpu()).cluster.device;
  ASSERT_EQ(device.grouped_gemm.size(), 1U);
  EXPECT_EQ(device.grouped_gemm[0].precision, Precision::bf16);
  EXPECT_NEAR(device.grouped_gemm[0].time_factor, 4.0, 1e-9);
  EXPECT_NEAR(device.grouped_gemm[0].relative_spread, std::log(4.0) / std::sqrt(2.0), 1e-9);
}

// A launch of 1 us, and 1e9 bytes at 500 and 2,000 GB/s: as one kernel the geometric mean, 1,000.
TEST(CastsToFp8, AreTheRateOfTheModelsCast) {
  std::vector<MeasuredPoint> points{point(timed::KernelLaunch{}, bytes(12), 1e-6)};
  points.push_back(point(timed::Kernel{"quantize.cast", 1}, bytes(1e9), 1e-6 + 1e9 / 5e11));
  points.push_back(point(timed::Kernel{"quantize.largest", 1}, bytes(1e9), 1e-6 + 1e9 / 2e12));
  const Device device = assemble(points, cluster_of_one_gpu()).cluster.device;
  ASSERT_EQ(device.kernels.size(), 1U);
  EXPECT_EQ(device.kernels[0].kernel, kernel::kQuantize);
  EXPECT_NEAR(device.kernels[0].rate / gigabytes_per_second(1000), 1.0, 1e-9);
}

TEST(LibraryKernelPoints, SurviveAProfilesFile) {
  const AttentionShape shape{
      .batch = 4, .heads = 16, .query_groups = 4, .positions = 4096, .backward = true};
  for (const Subject& subject :
       {Subject(timed::GroupedGemm{product_of_experts(256)}),
        Subject(timed::Attention{Precision::bf16, shape}),
        Subject(timed::Kernel{"quantize.cast", 1,
                              KernelSizes{.positions = 64, .batch = 1, .hidden = 64}})}) {
    const MeasuredPoint point = calibrate::point(subject, bytes(1), 1e-3);
    const MeasuredPoint again = point_from_json(to_json(point), "profile.json", "/points/0");
    EXPECT_TRUE(same_subject(again, point)) << point.label();
    EXPECT_TRUE(can_be_timed(again)) << point.label();
  }
}

// Another tool's kernel is what a framework runs: a tenth of the peak there, a fifth here.
TEST(LibraryKernelPoints, ImportedTimesOfAttentionStandBeforeOwn) {
  const AttentionShape shape{.batch = 4, .heads = 16, .query_groups = 16, .positions = 4096};
  Device device = cluster_of_one_gpu().device;
  device.gemm.emplace_back();  // bf16
  device.gemm[0].peak = teraflops_per_second(1000);
  const double whole = attention_flops(shape) / 1e15;
  std::vector<MeasuredPoint> points{
      point(timed::Attention{Precision::bf16, shape}, bytes(1), 5.0 * whole)};
  Device own = device;
  fit_attention(own, points);
  ASSERT_EQ(own.attention.size(), 1U);
  points.push_back(point(timed::Attention{Precision::bf16, shape}, bytes(1), 10.0 * whole));
  points.back().source = "flash-attention";
  fit_attention(device, points);
  ASSERT_EQ(device.attention.size(), 1U);
  EXPECT_NEAR(device.attention[0].forward_fraction, own.attention[0].forward_fraction / 2.0, 1e-9);
}

// Another tool's attention is not this device's to time again.
TEST(LibraryKernelPoints, ImportedAttentionCannotBeTimed) {
  MeasuredPoint point = calibrate::point(timed::Attention{}, bytes(1), 1e-3);
  point.source = "flash-attention";
  EXPECT_FALSE(can_be_timed(point));
}

}  // namespace
}  // namespace meshwright::calibrate
