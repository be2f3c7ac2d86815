// SPDX-License-Identifier: Apache-2.0
#include "calibrate/host_speed.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/calibrate/alone.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

// It multiplies, so that a result can be checked: row-major, nothing transposed, beta 0.
class MultiplyingDevice : public IdleCompute {
 public:
  void gemm(const GemmCall& call) override {
    IdleCompute::gemm(call);
    const auto* a = static_cast<const float*>(call.a);
    const auto* b = static_cast<const float*>(call.b);
    auto* c = static_cast<float*>(call.c);
    for (std::int64_t i = 0; i < call.m; ++i) {
      for (std::int64_t j = 0; j < call.n; ++j) {
        float sum = 0.0F;
        for (std::int64_t k = 0; k < call.k; ++k) sum += a[i * call.k + k] * b[k * call.n + j];
        c[i * call.n + j] = sum;
      }
    }
  }
};

MeasuredPoint small_product(std::int64_t m, double milliseconds_then) {
  MeasuredPoint p;
  p.subject = timed::Gemm{{.variant = {.shape = {1, m, 4, 4}}}};
  p.measurement.summary.median = milliseconds(milliseconds_then);
  return p;
}

// Every second one of 12 GEMMs is chosen: six. No chosen point is too short, too long, noisy or a
// collective.
TEST(HostSpeed, ASampleIsSpreadOverWhatCanBeTimedWell) {
  std::vector<MeasuredPoint> points;
  for (int i = 0; i < 12; ++i) points.push_back(small_product(i + 1, 1.0));
  points.push_back(small_product(20, 0.01));
  points.push_back(small_product(21, 100.0));
  points.push_back(small_product(22, 1.0));
  points.back().measurement.noisy = true;
  points.push_back(small_product(23, 1.0));
  points.back().subject = timed::CollectiveCall{};
  const std::vector<MeasuredPoint> sample = speed_sample(points);
  ASSERT_EQ(sample.size(), 6U);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    EXPECT_EQ(product_of(sample[i].subject)->variant.shape.m, static_cast<std::int64_t>(2 * i + 1));
  }
}

// Products take 3 ms now; 2 ms and 1.5 ms then: the geometric mean of 1.5 and 2.
TEST(HostSpeed, IsTheMeanRatioOfTimesNowAndThen) {
  MultiplyingDevice device;
  device.product_seconds = 3e-3;
  Alone world;
  HostSpeed speed({small_product(4, 2.0), small_product(8, 1.5)}, device, world);
  ASSERT_TRUE(speed.time_ratio().has_value());
  EXPECT_NEAR(*speed.time_ratio(), std::sqrt(1.5 * 2.0), 1e-9);
}

// They took 3 ms on average then, too, of which predictions know: nothing has changed.
TEST(HostSpeed, WhatTheProfileHasOfSystemNoiseIsNoChange) {
  MultiplyingDevice device;
  device.product_seconds = 3e-3;
  Alone world;
  MeasuredPoint then = small_product(4, 2.0);
  then.measurement.summary.count = 5;
  then.measurement.mean = then.measurement.rank_mean = milliseconds(3.0);
  EXPECT_NEAR(*HostSpeed({then}, device, world).time_ratio(), 1.0, 1e-9);
}

TEST(HostSpeed, WithoutPointsThereIsNone) {
  MultiplyingDevice device;
  Alone world;
  EXPECT_FALSE(HostSpeed({small_product(4, 100.0)}, device, world).time_ratio().has_value());
}

}  // namespace
}  // namespace meshwright::calibrate
