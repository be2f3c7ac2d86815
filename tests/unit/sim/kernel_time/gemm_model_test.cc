// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/gemm_model.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// 100 multiprocessors, 100 TFLOP/s, 1 TB/s. Without k_latency smaller tiles are as good as large
// ones.
Device device_with_tiles() {
  Device d;
  d.num_multiprocessors = 100;
  d.memory_bandwidth = gigabytes_per_second(1000);
  d.memory_bandwidth_fraction = 1.0;
  GemmModel g;
  g.peak = teraflops_per_second(100);
  g.tile_m = g.tile_n = 128;
  d.gemm.push_back(g);
  return d;
}

double model_seconds(GemmShape s, const Device& d) {
  return gemm_model_time(s, d.gemm.front(), d).value();
}

TEST(GemmModel, AFullWaveOfWholeTilesRunsAtThePeak) {
  // 1280 x 1280 = 100 tiles of 128 x 128, one wave; k = 100000 so memory hardly counts.
  // FLOPs 2 * 1280^2 * 1e5 = 3.2768e11 at 1e14: 3.2768 ms. Bytes (2 * 1280 * 1e5 + 1280^2) * 2 =
  // 515.3 MB: 0.5153 ms; the 3-norm of both is 3.2768 * (1 + 0.1573^3)^(1/3) = 3.2810 ms.
  EXPECT_NEAR(model_seconds({1, 1280, 1280, 100000}, device_with_tiles()), 3.2810e-3, 1e-6);
}

TEST(GemmModel, AMatrixTimesAVectorRunsAtMemoryBandwidth) {
  // 1 x 8192 x 8192: 2 * 8192^2 = 134.2 MB of weights at 1 TB/s: 134.3 us with input and output.
  EXPECT_NEAR(model_seconds({1, 1, 8192, 8192}, device_with_tiles()), 134.3e-6, 6e-6);
}

TEST(GemmModel, AStartedWaveCostsAWholeOneOrItsShare) {
  // 1280 x 1408: 110 tiles on 100 multiprocessors, large k: two waves, or 1.1. Quarter tiles could
  // fill the second wave, unless each step in k has a price of its own.
  Device d = device_with_tiles();
  d.gemm.front().k_latency = microseconds(1);
  const double one_wave = model_seconds({1, 1280, 1280, 100000}, d);
  EXPECT_NEAR(model_seconds({1, 1280, 1408, 100000}, d) / one_wave, 2.0, 0.01);
  d.gemm.front().wave_quantization = 0.0;
  EXPECT_NEAR(model_seconds({1, 1280, 1408, 100000}, d) / one_wave, 1.1, 0.01);
}

TEST(GemmModel, NeverFallsWhenAnEdgeGrows) {
  Device d = device_with_tiles();
  GemmModel& g = d.gemm.front();
  g.tile_m = g.tile_n = 256;
  g.ramp_k = 120.0;
  g.k_latency = seconds(0.5e-9);
  g.wave_quantization = 0.4;
  for (const std::int64_t fixed : {std::int64_t{1}, std::int64_t{96}, std::int64_t{3000}}) {
    double last_m = 0, last_n = 0, last_k = 0, last_batch = 0;
    for (std::int64_t x = 1; x < 6000; x += 13) {
      const double by_m = model_seconds({1, x, fixed, 2048}, d);
      const double by_n = model_seconds({1, fixed, x, 2048}, d);
      const double by_k = model_seconds({1, fixed, 2048, x}, d);
      const double by_batch = model_seconds({x, fixed, 64, 64}, d);
      ASSERT_GE(by_m, last_m) << fixed << " " << x;
      ASSERT_GE(by_n, last_n) << fixed << " " << x;
      ASSERT_GE(by_k, last_k) << fixed << " " << x;
      ASSERT_GE(by_batch, last_batch) << fixed << " " << x;
      last_m = by_m;
      last_n = by_n;
      last_k = by_k;
      last_batch = by_batch;
    }
  }
}

TEST(GemmModel, FasterHardwareIsNeverSlower) {
  for (const GemmShape s : {GemmShape{1, 1, 4096, 4096}, GemmShape{1, 300, 700, 9000},
                            GemmShape{1, 8192, 8192, 8192}}) {
    const Device base = device_with_tiles();
    Device wider = base, quicker = base;
    wider.memory_bandwidth *= 2.0;
    quicker.gemm.front().peak *= 2.0;
    EXPECT_LE(model_seconds(s, wider), model_seconds(s, base));
    EXPECT_LE(model_seconds(s, quicker), model_seconds(s, base));
  }
}

TEST(GemmModel, SplittingALongInnerDimensionHelpsAFewTiles) {
  // One tile, k = 1.28e6: alone one multiprocessor (1 TFLOP/s) needs 2 * 128 * 128 * 1.28e6 / 1e12
  // = 41.9 ms; 16 quarter tiles 2.62 ms, and memory 0.66 ms. Splits of k reach all 100
  // multiprocessors: 0.42 ms would be the least, 5/4 of a wave more than that is not worse than 2
  // ms.
  Device d = device_with_tiles();
  EXPECT_LT(model_seconds({1, 128, 128, 1'280'000}, d), 2e-3);
  // A pass over the parts that costs more than it saves is not taken.
  d.gemm.front().split_latency = seconds(1);
  EXPECT_GT(model_seconds({1, 128, 128, 1'280'000}, d), 2.6e-3);
  EXPECT_LT(model_seconds({1, 128, 128, 1'280'000}, d), 3e-3);
}

TEST(GemmModel, SixteenBitFormatsStandForEachOther) {
  Device d = device_with_tiles();
  GemmModel fp32 = d.gemm.front();
  fp32.precision = Precision::fp32;
  d.gemm.insert(d.gemm.begin(), fp32);
  EXPECT_EQ(gemm_model_for(d, Precision::fp16).precision, Precision::bf16);
  EXPECT_EQ(gemm_model_for(d, Precision::fp32).precision, Precision::fp32);
  EXPECT_EQ(gemm_model_for(d, Precision::fp8).precision, Precision::fp32);
}

}  // namespace
}  // namespace meshwright
