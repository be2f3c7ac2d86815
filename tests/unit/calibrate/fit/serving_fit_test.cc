// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit/serving_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sim/serving/operator_time.h"

namespace meshwright::calibrate {
namespace {

// 10 GB/s and 100 GFLOP/s in fp32.
Device core() {
  Device device;
  device.kind = DeviceKind::cpu;
  device.memory_bandwidth = gigabytes_per_second(10);
  GemmModel fp32;
  fp32.precision = Precision::fp32;
  fp32.peak = teraflops_per_second(0.1);
  device.gemm = {fp32};
  return device;
}

MeasuredPoint point(const Subject& subject, double time) {
  MeasuredPoint p;
  p.subject = subject;
  const Seconds t = seconds(time);
  p.measurement.summary = {.median = t, .min = t, .p10 = t, .p90 = t, .count = 7};
  return p;
}

PagedAttentionShape shape(std::int64_t sequences, std::int64_t rows, std::int64_t cached) {
  return {.sequences = sequences,
          .rows = rows,
          .cached = cached,
          .heads = 8,
          .query_groups = 2,
          .head_dim = 32};
}

// 3 us, 5 us a sequence, and the bytes at a fifth of 10 GB/s. A key and value of two groups of 32
// numbers are 512 bytes; a sequence has 32 keys more on average, and moves 2 x 1,024 bytes of
// queries and outputs. Its products, 1,024 FLOPs a key at 100 GFLOP/s, join by the 3-norm: of 1,000
// keys 0.256 ms and 0.010 ms.
double decode_seconds(double sequences, double keys_each) {
  const double memory = sequences * (512.0 * (keys_each + 32.0) + 2048.0) / 2e9;
  const double products = sequences * keys_each * 1024.0 / 1e11;
  return 3e-6 + 5e-6 * sequences + std::cbrt(std::pow(memory, 3.0) + std::pow(products, 3.0));
}

TEST(ServingFit, FindsWhatDecodesWereMadeOf) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t sequences : {1, 8, 32}) {
    for (const std::int64_t keys : {32, 160, 480}) {
      points.push_back(
          point(timed::PagedAttention{shape(sequences, 1, keys - 1)},
                decode_seconds(static_cast<double>(sequences), static_cast<double>(keys))));
    }
  }
  std::vector<Fit> fits;
  const InferenceRates rates = fit_serving(core(), points, fits);
  ASSERT_EQ(rates.decode_attention.size(), 1U);
  const DecodeAttentionRate& rate = rates.decode_attention.front();
  EXPECT_NEAR(rate.latency.value(), 3e-6, 1e-8);
  EXPECT_NEAR(rate.sequence_latency.value(), 5e-6, 1e-8);
  EXPECT_NEAR(rate.bandwidth_fraction, 0.2, 1e-4);
  EXPECT_TRUE(rates.prefill_attention.empty());
  EXPECT_FALSE(rates.host_step);
  EXPECT_EQ(fits.size(), 1U);
}

// 7 us a sequence, and all pairs of new tokens and keys, 1,024 FLOPs each, at half of 100 GFLOP/s
// times keys / (keys + 20).
TEST(ServingFit, FindsWhatPromptsWereMadeOf) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t rows : {32, 96, 224}) {
    for (const std::int64_t cached : {0, 160}) {
      const auto keys = static_cast<double>(rows + cached);
      const double pairs = static_cast<double>(rows) * keys;
      points.push_back(point(timed::PagedAttention{shape(1, rows, cached)},
                             7e-6 + pairs * 1024.0 / (0.5e11 * keys / (keys + 20.0))));
    }
  }
  std::vector<Fit> fits;
  const InferenceRates rates = fit_serving(core(), points, fits);
  ASSERT_EQ(rates.prefill_attention.size(), 1U);
  const PrefillAttentionRate& rate = rates.prefill_attention.front();
  EXPECT_NEAR(rate.sequence_latency.value(), 7e-6, 1e-8);
  EXPECT_NEAR(rate.fraction, 0.5, 1e-3);
  EXPECT_NEAR(rate.ramp_keys, 20.0, 0.1);
  EXPECT_TRUE(rate.hidden_pairs);
}

// 20 us a step, 2 us a sequence, 1 ns a logit.
TEST(ServingFit, FindsWhatStepsOfTheHostWereMadeOf) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t sequences : {1, 8, 32}) {
    for (const std::int64_t vocab : {512, 2048}) {
      const auto s = static_cast<double>(sequences);
      points.push_back(point(timed::EngineStep{{sequences, vocab}},
                             20e-6 + 2e-6 * s + 1e-9 * s * static_cast<double>(vocab)));
    }
  }
  std::vector<Fit> fits;
  const InferenceRates rates = fit_serving(core(), points, fits);
  ASSERT_TRUE(rates.host_step);
  EXPECT_NEAR(rates.host_step->step.value(), 20e-6, 1e-8);
  EXPECT_NEAR(rates.host_step->sequence.value(), 2e-6, 1e-8);
  EXPECT_NEAR(rates.host_step->logit.value(), 1e-9, 1e-11);
}

// Latents of 64 numbers with rotary keys of 16: 320 bytes a key, and of 4 heads (80 + 64) numbers
// of each query and output, 2,304 bytes. A key is 4 x 2 x (80 + 64) = 1,152 FLOPs. The products
// with the up projection, 4 heads of 32 + 32 columns of 64, are the linears' and not attention's.
TEST(ServingFit, FindsWhatLatentDecodesWereMadeOf) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t sequences : {1, 8, 32}) {
    for (const std::int64_t keys : {32, 160, 480}) {
      PagedAttentionShape latent{.sequences = sequences, .cached = keys - 1, .heads = 4};
      latent.head_dim = 32;
      latent.latent_rank = 64;
      latent.rotary_dim = 16;
      latent.value_dim = 32;
      const auto s = static_cast<double>(sequences), k = static_cast<double>(keys);
      const double memory = s * (320.0 * (k + 32.0) + 2304.0) / 2e9;
      const double products = s * k * 1152.0 / 1e11;
      const double up = linear_cost({1, sequences, 256, 64}, WeightScheme{}, core()).time.value();
      points.push_back(
          point(timed::PagedAttention{latent},
                3e-6 + 5e-6 * s + up + std::cbrt(std::pow(memory, 3.0) + std::pow(products, 3.0))));
    }
  }
  // Latents and keys and values of groups are fitted each for themselves.
  for (const std::int64_t keys : {32, 160, 288, 480}) {
    points.push_back(point(timed::PagedAttention{shape(1, 1, keys - 1)},
                           decode_seconds(1.0, static_cast<double>(keys))));
  }
  std::vector<Fit> fits;
  const InferenceRates rates = fit_serving(core(), points, fits);
  ASSERT_EQ(rates.decode_attention.size(), 2U);
  const DecodeAttentionRate& rate = rates.decode_attention.back();
  EXPECT_EQ(rate.form, AttentionForm::latent);
  EXPECT_NEAR(rate.latency.value(), 3e-6, 1e-8);
  EXPECT_NEAR(rate.sequence_latency.value(), 5e-6, 1e-8);
  EXPECT_NEAR(rate.bandwidth_fraction, 0.2, 1e-4);
  EXPECT_EQ(fits.back().what, "decode attention over a paged cache, latent");
}

// 30 us and 2 GB/s.
TEST(ServingFit, FindsWhatCopiesOfCachesWereMadeOf) {
  std::vector<MeasuredPoint> points;
  for (const std::int64_t tokens : {32, 160, 480, 2016}) {
    const CacheCopyShape shape{tokens, 4, 2, 32, 32};
    const Bytes sent = cache_copy_bytes(shape, 4.0);
    points.push_back(point(timed::CacheCopy{shape}, 30e-6 + sent.value() / 2e9));
    points.back().amount = sent;
  }
  // 32 tokens of 4 layers of 2 groups of 64 numbers of 4 bytes.
  EXPECT_EQ(points.front().amount, bytes(32 * 4 * 2 * 64 * 4));
  std::vector<Fit> fits;
  const InferenceRates rates = fit_serving(core(), points, fits);
  ASSERT_TRUE(rates.cache_copy);
  EXPECT_NEAR(rates.cache_copy->latency.value(), 30e-6, 1e-8);
  EXPECT_NEAR(rates.cache_copy->rate.value() / 2e9, 1.0, 1e-3);
  EXPECT_EQ(fits.size(), 1U);
}

// A GPU's engines have kernels of their own.
TEST(ServingFit, SaysNothingOfGpus) {
  Device gpu = core();
  gpu.kind = DeviceKind::gpu;
  std::vector<MeasuredPoint> points;
  for (const std::int64_t keys : {32, 160, 288, 480}) {
    points.push_back(point(timed::PagedAttention{shape(1, 1, keys - 1)}, 1e-5));
  }
  std::vector<Fit> fits;
  EXPECT_EQ(fit_serving(gpu, points, fits), InferenceRates{});
  EXPECT_TRUE(fits.empty());
}

}  // namespace
}  // namespace meshwright::calibrate
