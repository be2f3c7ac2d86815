// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/attention_fit.h"

#include <gmock/gmock.h>

#include "calibrate/imported/imported.h"
#include "calibrate/profile/profile_json.h"

namespace meshwright::calibrate {
namespace {

// 1,000 TFLOP/s in 16 bits and one multiprocessor, so that no wave is short.
Device device() {
  Device d;
  d.memory_bandwidth = gigabytes_per_second(3000);
  GemmModel bf16;
  bf16.precision = Precision::bf16;
  bf16.peak = teraflops_per_second(1000);
  d.gemm = {bf16};
  return d;
}

MeasuredPoint attention(std::int64_t positions, double time, bool backward = false) {
  MeasuredPoint p;
  p.subject = timed::Attention{Precision::bf16,
                               {.batch = 1,
                                .heads = 16,
                                .query_groups = 16,
                                .positions = positions,
                                .head_dim = 128,
                                .backward = backward}};
  p.amount = bytes(1);
  const Seconds t = seconds(time);
  p.measurement.summary = {.median = t, .min = t, .p10 = t, .p90 = t, .count = 7};
  return p;
}

const AttentionShape& shape_of(const MeasuredPoint& point) {
  return point.as<timed::Attention>()->shape;
}

// As flash-attention counts: 4 x 16 heads x s^2 x 128 / 2. A causal query sees half of s keys, so
// that fill is (s/2) / (s/2 + 300).
double time_of(std::int64_t positions, double fraction, double ramp) {
  const auto s = static_cast<double>(positions);
  const double work = 4.0 * 16.0 * s * s * 128.0 / 2.0;
  return work / (1000e12 * fraction * (s / 2.0) / (s / 2.0 + ramp));
}

TEST(AttentionFlops, AreFlashAttentionsOwnCount) {
  const AttentionShape forward{.batch = 2, .heads = 3, .positions = 10, .head_dim = 4};
  EXPECT_DOUBLE_EQ(attention_flops(forward), 4.0 * 2 * 3 * 10 * 10 * 4 / 2);
  AttentionShape backward = forward;
  backward.backward = true;
  EXPECT_DOUBLE_EQ(attention_flops(backward), 2.5 * attention_flops(forward));
  backward.causal = false;
  EXPECT_DOUBLE_EQ(attention_flops(backward), 5.0 * attention_flops(forward));
}

TEST(AttentionFit, FindsTheRateAndTheRampThatTimesWereMadeOf) {
  Device d = device();
  std::vector<MeasuredPoint> points;
  for (const std::int64_t s : {512, 1024, 2048, 4096, 8192}) {
    points.push_back(attention(s, time_of(s, 0.6, 300.0)));
    points.push_back(attention(s, 2.5 * time_of(s, 0.45, 300.0), true));
  }
  const auto fits = fit_attention(d, points);
  ASSERT_EQ(fits.size(), 1U);
  EXPECT_EQ(fits[0].what, "attention of width 128");
  EXPECT_EQ(fits[0].points, 10);
  ASSERT_EQ(d.attention.size(), 1U);
  EXPECT_NEAR(d.attention[0].forward_fraction, 0.6, 1e-3);
  EXPECT_NEAR(d.attention[0].ramp_keys, 300.0, 1.0);
  EXPECT_NEAR(d.attention[0].backward_fraction, 0.45, 1e-3);
  EXPECT_EQ(d.attention[0].provenance, Provenance::fitted);
}

// One time says how fast, not how it grows: the ramp that the device has stays, and so do other
// widths and older kernels.
TEST(AttentionFit, WhatAPointCannotSayStays) {
  Device d = device();
  d.attention = {
      {.head_dim = 128, .forward_fraction = 0.5, .backward_fraction = 0.4, .ramp_keys = 300.0},
      {.head_dim = 64, .forward_fraction = 0.3},
      {.head_dim = 128, .version = 2, .forward_fraction = 0.2}};
  (void)fit_attention(d, {attention(4096, time_of(4096, 0.66, 300.0))});
  ASSERT_EQ(d.attention.size(), 3U);
  EXPECT_NEAR(d.attention[0].forward_fraction, 0.66, 1e-6);
  EXPECT_DOUBLE_EQ(d.attention[0].backward_fraction, 0.4);
  EXPECT_DOUBLE_EQ(d.attention[0].ramp_keys, 300.0);
  EXPECT_DOUBLE_EQ(d.attention[1].forward_fraction, 0.3);
  EXPECT_DOUBLE_EQ(d.attention[2].forward_fraction, 0.2);
}

TEST(AttentionFit, WithoutAPeakThereAreNoFractions) {
  Device d;
  EXPECT_TRUE(fit_attention(d, {attention(4096, 1e-3)}).empty());
  EXPECT_TRUE(d.attention.empty());
}

TEST(AttentionPoint, KeepsItsShapeInAFile) {
  const MeasuredPoint p = attention(4096, 1e-3, true);
  const MeasuredPoint again = point_from_json(to_json(p), "p.json", "");
  EXPECT_EQ(again.subject, p.subject);
  EXPECT_TRUE(same_subject(p, again));
  EXPECT_FALSE(same_subject(p, attention(4096, 1e-3, false)));
  EXPECT_EQ(p.label(), "attention backward 1 x 16 heads of 128, 4096 positions");
}

// 100 TFLOP/s: 4 x 2 x 16 heads x 8192^2 x 128 / 2 FLOPs in 5.5 ms; 50 backward, 2.5 times as many.
TEST(ImportedAttention, FlashAttentionsBenchmarkIsRead) {
  const Imported result = imported(R"(### causal=True, headdim=128, batch_size=2, seqlen=8192 ###
Flash2 fwd: 100.00 TFLOPs/s, bwd: 50.00 TFLOPs/s, fwd + bwd: 58.33 TFLOPs/s
Pytorch fwd: 30.00 TFLOPs/s, bwd: 0.00 TFLOPs/s, fwd + bwd: 0.00 TFLOPs/s
### causal=False, headdim=64, batch_size=32, seqlen=512 ###
Flash3 fwd: 200.00 TFLOPs/s, bwd: 0.00 TFLOPs/s, fwd + bwd: 0.00 TFLOPs/s
)",
                                   "flash.log");
  EXPECT_EQ(result.tool, "flash-attention");
  ASSERT_EQ(result.points.size(), 3U);
  const double forward = 4.0 * 2 * 16 * 8192.0 * 8192.0 * 128 / 2;
  EXPECT_NEAR(result.points[0].time().value(), forward / 100e12, 1e-12);
  EXPECT_EQ(shape_of(result.points[0]).version, 2);
  EXPECT_NEAR(result.points[1].time().value(), 2.5 * forward / 50e12, 1e-12);
  EXPECT_TRUE(shape_of(result.points[1]).backward);
  EXPECT_EQ(shape_of(result.points[2]).heads, 32);
  EXPECT_FALSE(shape_of(result.points[2]).causal);
  EXPECT_EQ(shape_of(result.points[2]).version, 0);
}

TEST(ImportedAttention, TimesOfTheReferenceScriptAreRead) {
  const Imported result =
      imported(R"({"schema": "meshwright.attention_times/1", "tool": "PyTorch 2.9",
    "times": [{"batch": 1, "heads": 32, "query_groups": 8, "positions": 4096, "head_dim": 128,
               "causal": true, "backward": false, "precision": "bf16", "seconds": 0.001}]})",
               "a.json");
  EXPECT_EQ(result.tool, "PyTorch 2.9");
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(shape_of(result.points[0]).query_groups, 8);
  EXPECT_DOUBLE_EQ(result.points[0].time().value(), 1e-3);
}

}  // namespace
}  // namespace meshwright::calibrate
