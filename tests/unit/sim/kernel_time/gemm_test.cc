// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "sim/kernel_time/compute.h"
#include "sim/kernel_time/gemm_model.h"

namespace meshwright {
namespace {

Device device_with_spread() {
  Device d;
  d.num_multiprocessors = 100;
  d.memory_bandwidth = gigabytes_per_second(1000);
  GemmModel g;
  g.peak = teraflops_per_second(100);
  g.relative_spread = 0.1;
  g.provenance = Provenance::fitted;
  d.gemm.push_back(g);
  return d;
}

// Points at a multiple of the model's own time.
Device measured_device(double times_model) {
  Device d = device_with_spread();
  std::vector<GemmPoint> points;
  for (const std::int64_t m : {512, 1024, 2048, 4096}) {
    for (const std::int64_t n : {512, 1024, 4096}) {
      const Seconds t = gemm_model_time({1, m, n, 2048}, d.gemm.front(), d);
      points.push_back({1, m, n, 2048, t * times_model, 0.02});
    }
  }
  d.gemm.front().points = std::move(points);
  return d;
}

TEST(GemmCost, WithoutPointsTheModelAnswersUnderItsOwnLabel) {
  const Device d = device_with_spread();
  const Cost c = gemm_cost({1, 1000, 1000, 1000}, Precision::bf16, d);
  EXPECT_EQ(c.time, gemm_model_time({1, 1000, 1000, 1000}, d.gemm.front(), d));
  EXPECT_EQ(c.provenance, Provenance::fitted);
  EXPECT_EQ(c.relative_spread, 0.1);
}

TEST(GemmCost, AMeasuredShapeIsUsedAsItIs) {
  const Device d = measured_device(1.7);
  const Cost c = gemm_cost({1, 1024, 4096, 2048}, Precision::bf16, d);
  EXPECT_EQ(c.time, gemm_model_time({1, 1024, 4096, 2048}, d.gemm.front(), d) * 1.7);
  EXPECT_EQ(c.relative_spread, 0.02);
  EXPECT_EQ(c.provenance, Provenance::measured);
}

TEST(GemmCost, TransposedRolesAreAnotherShape) {
  const Cost c = gemm_cost({1, 512, 2048, 1024}, Precision::bf16, measured_device(1.7));
  EXPECT_NE(c.provenance, Provenance::measured);
}

TEST(GemmCost, BetweenPointsTheModelIsCorrectedByItsNeighbours) {
  // All neighbours are 1.7 times the model, so any weighting gives 1.7.
  const Device d = measured_device(1.7);
  const Cost c = gemm_cost({1, 1500, 2000, 2048}, Precision::bf16, d);
  EXPECT_NEAR(c.time / gemm_model_time({1, 1500, 2000, 2048}, d.gemm.front(), d), 1.7, 1e-9);
  EXPECT_EQ(c.provenance, Provenance::interpolated);
  EXPECT_GT(c.relative_spread, 0.02);
}

TEST(GemmCost, OutsideTheMeasuredBoxIsCalledExtrapolated) {
  const Device d = measured_device(1.7);
  EXPECT_EQ(gemm_cost({1, 8192, 4096, 2048}, Precision::bf16, d).provenance,
            Provenance::extrapolated);
  EXPECT_EQ(gemm_cost({1, 1024, 1024, 4096}, Precision::bf16, d).provenance,
            Provenance::extrapolated);
}

TEST(GemmCost, NearAPointTheAnswerNearsThePoint) {
  Device d = measured_device(1.0);
  for (GemmPoint& p : d.gemm.front().points) {
    if (p.m == 1024 && p.n == 1024) p.time *= 3.0;
  }
  const GemmShape near{1, 1025, 1024, 2048};
  const double ratio =
      gemm_cost(near, Precision::bf16, d).time / gemm_model_time(near, d.gemm.front(), d);
  EXPECT_GT(ratio, 2.9);
  EXPECT_LE(ratio, 3.0);
}

TEST(GemmCost, AnotherFormatThanTheDeviceKnowsIsAssumed) {
  EXPECT_EQ(gemm_cost({1, 64, 64, 64}, Precision::fp8, device_with_spread()).provenance,
            Provenance::assumed);
  EXPECT_EQ(gemm_cost({1, 64, 64, 64}, Precision::fp16, device_with_spread()).provenance,
            Provenance::fitted);
}

TEST(GemmCost, NothingCostsNothing) {
  EXPECT_EQ(gemm_cost({1, 0, 64, 64}, Precision::bf16, device_with_spread()).time.value(), 0.0);
}

}  // namespace
}  // namespace meshwright
