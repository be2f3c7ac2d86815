// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/expert_products.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/kernel_time/gemm_model.h"

namespace meshwright {
namespace {

// 2 ms of a batched product, 5 % unsure, of which a grouped one takes 1.5 times as long, 12 %
// unsure: 3 ms and (0.05^2 + 0.12^2)^(1/2) = 0.13.
TEST(AsGrouped, TakesTheMeasuredFactorOfItsFormat) {
  Device d;
  d.grouped_gemm = {{.precision = Precision::bf16, .time_factor = 1.5, .relative_spread = 0.12}};
  const Cost batched{milliseconds(2), 0.05, Provenance::interpolated};
  const Cost grouped = as_grouped(batched, Precision::bf16, d);
  EXPECT_NEAR(grouped.time.value(), 3e-3, 1e-15);
  EXPECT_NEAR(grouped.relative_spread, 0.13, 1e-12);
  EXPECT_EQ(grouped.provenance, Provenance::interpolated);
  EXPECT_EQ(as_grouped(batched, Precision::fp8, d).time, batched.time);
}

// 100 multiprocessors, 100 TFLOP/s in tiles of 256 x 256, 1 TB/s; nothing is lost.
Device device_with_wide_tiles() {
  Device d;
  d.num_multiprocessors = 100;
  d.memory_bandwidth = gigabytes_per_second(1000);
  d.memory_bandwidth_fraction = 1.0;
  d.kernel_launch = microseconds(2);
  GemmModel g;
  g.precision = Precision::bf16;
  g.peak = teraflops_per_second(100);
  g.tile_m = g.tile_n = 256;
  d.gemm.push_back(g);
  return d;
}

TEST(ExpertProducts, RunFourAtOnce) {
  EXPECT_EQ(rounds_on_streams({3, 128, 256, 512}).shape.batch, 3);
  EXPECT_DOUBLE_EQ(rounds_on_streams({3, 128, 256, 512}).count, 1.0);
  const ProductRounds ten = rounds_on_streams({10, 128, 256, 512});
  EXPECT_EQ(ten.shape.batch, 4);
  EXPECT_EQ(ten.shape.m, 128);
  EXPECT_DOUBLE_EQ(ten.count, 2.5);
}

// Arithmetic of 3 beside traffic of 4: (27 + 64)^(1/3). With 2 more: (27 + 216)^(1/3).
TEST(WithMoreTraffic, KeepsTheArithmetic) {
  EXPECT_NEAR(with_more_traffic(seconds(std::cbrt(91.0)), seconds(4), seconds(2)).value(),
              std::cbrt(243.0), 1e-12);
  EXPECT_NEAR(with_more_traffic(seconds(3), seconds(0), seconds(0)).value(), 3.0, 1e-12);
  EXPECT_NEAR(with_more_traffic(seconds(1), seconds(2), seconds(1)).value(), 3.0, 1e-12);
}

// A weight of 10,000 x 10,000 for 128 rows: the operands are 2 * 2.56 MB, the output 200 MB, which
// take 0.20512 ms. In an fp32 buffer it is read and written: 800 MB, 0.80512 ms. The arithmetic,
// of 2 * 10^8 * 128 FLOPs, is what is left of the cube of the product's time.
TEST(GradientCost, ReadsAndWritesTheBuffer) {
  const GemmShape shape{1, 10'000, 10'000, 128};
  const Device d = device_with_wide_tiles();
  EXPECT_DOUBLE_EQ(gemm_traffic(shape, Precision::bf16).value(), 205.12e6);
  const double alone = gemm_cost(shape, Precision::bf16, d).time.value() - 2e-6;
  const double arithmetic = alone * alone * alone - 0.20512e-3 * 0.20512e-3 * 0.20512e-3;
  const double added = gradient_cost(shape, Precision::bf16, 4.0, d).time.value() - 2e-6;
  EXPECT_NEAR(added, std::cbrt(arithmetic + 0.80512e-3 * 0.80512e-3 * 0.80512e-3), 1e-12);
}

// A time measured with the buffer is not charged for it again.
TEST(GradientCost, LeavesMeasuredPointsAlone) {
  Device d = device_with_wide_tiles();
  const GemmShape shape{1, 64, 64, 64};
  GemmPoint point;
  point.batch = 1;
  point.m = point.n = point.k = 64;
  point.time = microseconds(7);
  d.gemm.front().points.push_back(point);
  EXPECT_EQ(gradient_cost(shape, Precision::bf16, 4.0, d).time, microseconds(7));
}

}  // namespace
}  // namespace meshwright
