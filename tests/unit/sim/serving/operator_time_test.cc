// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/operator_time.h"

#include <gtest/gtest.h>

#include "sim/collective/collective.h"
#include "sim/serving/step_volume.h"
#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

// A device whose numbers make the arithmetic short: 1 TB/s, 100 TFLOP/s in 16 bits, 100
// multiprocessors.
Device round_device() {
  Device device;
  device.num_multiprocessors = 100;
  device.memory_bandwidth = gigabytes_per_second(1000);
  device.memory_bandwidth_fraction = 1.0;
  GemmModel& model = device.gemm.emplace_back();
  model.precision = Precision::bf16;
  model.peak = teraflops_per_second(100);
  return device;
}

// 10 us + 0.5 GB at half of 1 TB/s: 1 ms; nothing to compute.
TEST(DecodeAttentionTime, IsALatencyAndTheBytes) {
  const DecodeAttentionRate rate{
      .latency = microseconds(10), .bandwidth_fraction = 0.5, .compute_fraction = 0.5};
  EXPECT_NEAR(decode_attention_time(gigabytes(0.5), flops(0), rate, round_device()).value(),
              1.010e-3, 1e-12);
  // 50 GFLOP at half of 100 TFLOP/s are 1 ms, too: cube root of 2.
  EXPECT_NEAR(decode_attention_time(gigabytes(0.5), flops(50e9), rate, round_device()).value(),
              10e-6 + 1e-3 * 1.259921, 1e-9);
}

// 300 keys beside a ramp of 300: half; 100 blocks are one wave beside a tail of one: half. 100
// TFLOP/s * 0.4 * 0.25 = 10 TFLOP/s, 10 GFLOP: 1 ms.
TEST(PrefillAttentionTime, FillsWithKeysAndWaves) {
  const PrefillAttentionRate rate{
      .latency = microseconds(10), .fraction = 0.4, .ramp_keys = 300, .tail_waves = 1};
  EXPECT_NEAR(prefill_attention_time(flops(10e9), 300, 100, rate, round_device()).value(), 1.010e-3,
              1e-12);
}

// 1 GB at 1 TB/s is 1 ms. 20 GFLOP at 0.2 of 100 TFLOP/s are 1 ms, with 8 rows beside a ramp of 8
// twice that: (1 + 8)^(1/3) = 2.0801 ms.
TEST(ExpertTime, JoinsBytesAndProducts) {
  const ExpertRate rate{.latency = microseconds(20),
                        .bandwidth_fraction = 1.0,
                        .compute_fraction = 0.2,
                        .ramp_rows = 8};
  const ExpertWork work{.weights = gigabytes(0.6),
                        .activations = gigabytes(0.4),
                        .products = flops(20e9),
                        .rows = 8,
                        .width = 512};
  EXPECT_NEAR(expert_time(work, rate, round_device()).value(), 20e-6 + 2.080084e-3, 1e-8);
}

// Weights of 0.6 GB in experts 512 wide with a ramp of 256 take as long as 0.9 GB: with 0.4 GB of
// activations at 1 TB/s that is 1.3 ms.
TEST(ExpertTime, OfNarrowExpertsIsLonger) {
  const ExpertRate rate{.latency = {},
                        .bandwidth_fraction = 1.0,
                        .compute_fraction = 1.0,
                        .ramp_rows = 0,
                        .ramp_width = 256};
  const ExpertWork work{.weights = gigabytes(0.6), .activations = gigabytes(0.4), .width = 512};
  EXPECT_NEAR(expert_time(work, rate, round_device()).value(), 1.3e-3, 1e-9);
}

TEST(LinearCost, OfSixteenBitsIsTheProductOfTraining) {
  const Device device = only_device(test::shipped_cluster("h100-8"));
  const GemmShape shape{1, 64, 8192, 8192};
  EXPECT_EQ(linear_cost(shape, {}, device).time, gemm_cost(shape, Precision::bf16, device).time);
}

// A few rows read the weights: fp8 takes about half as long, int4 about a quarter.
TEST(LinearCost, OfFewRowsFollowsTheBytesOfTheWeights) {
  const Device device = only_device(test::shipped_cluster("h100-8"));
  const GemmShape shape{1, 8, 28672, 8192};
  const auto time = [&](WeightFormat format) {
    return (linear_cost(shape, {.format = format}, device).time - device.kernel_launch).value();
  };
  EXPECT_NEAR(time(WeightFormat::fp8) / time(WeightFormat::bf16), 0.5, 0.06);
  EXPECT_NEAR(time(WeightFormat::int4) / time(WeightFormat::bf16), 0.26, 0.09);
}

// 8 ranks, 1 MiB, 450 GB/s: one shot 4.51 us + 7 * 1,048,576 / (0.587 * 450e9) = 32.3 us; two shots
// 13.9 us + 1.75 * 1,048,576 / (0.682 * 450e9) = 19.9 us.
TEST(ShotAllReduceTime, IsTheFasterOfOneAndTwoShots) {
  Link link;
  link.bandwidth = gigabytes_per_second(450);
  EXPECT_NEAR(shot_all_reduce_time(mebibytes(1), 8, link).value(), 19.88e-6, 0.02e-6);
  EXPECT_NEAR(shot_all_reduce_time(kibibytes(8), 8, link).value(), 4.73e-6, 0.02e-6);
}

// H100, 8 ranks, vLLM 0.24 (SERVING table): 7.9 us at 128 KiB, 15.0 at 1 MiB, 30.8 at 4 MiB.
TEST(AllReduceCost, FollowsTheMeasuredCurveOfTheEngine) {
  const ServingCluster cluster = test::shipped_cluster("h100-8");
  const Engine engine = test::shipped_engine("vllm-0.24");
  const auto us = [&](Bytes payload) {
    return all_reduce_cost(payload, 8, engine, cluster).time / microseconds(1);
  };
  EXPECT_NEAR(us(kibibytes(128)), 7.9, 0.2);
  EXPECT_NEAR(us(mebibytes(1)), 15.0, 0.5);
  EXPECT_NEAR(us(mebibytes(4)), 30.8, 2.0);
  EXPECT_EQ(all_reduce_cost(mebibytes(1), 1, engine, cluster).time.value(), 0.0);
}

// The curve of 8 B200 under vLLM has 26 us at 512 KiB and 17 us at 1 MiB.
TEST(AllReduceCost, OfAMessageIsNoMoreThanOfALargerOne) {
  const ServingCluster cluster = test::shipped_cluster("hgx-b200");
  const Engine engine = test::shipped_engine("vllm-0.24");
  Seconds before{};
  for (double kib = 1; kib < 65536; kib *= 1.3) {
    const Seconds now = all_reduce_cost(kibibytes(kib), 8, engine, cluster).time;
    EXPECT_GE(now, before * (1.0 - 1e-12)) << kib;
    before = now;
  }
}

TEST(AllReduceAlgorithm, ChangesWithTheMessage) {
  const ServingCluster cluster = test::shipped_cluster("h100-8");
  const Engine engine = test::shipped_engine("vllm-0.24");
  EXPECT_EQ(all_reduce_algorithm(kibibytes(128), 8, engine, cluster), "one-shot");
  EXPECT_EQ(all_reduce_algorithm(kibibytes(512), 8, engine, cluster), "two-shot");
  EXPECT_EQ(all_reduce_algorithm(mebibytes(4), 2, engine, cluster), "one-shot");
  EXPECT_EQ(all_reduce_algorithm(mebibytes(64), 8, engine, cluster), "NVLS");
  EXPECT_EQ(all_reduce_algorithm(mebibytes(64), 1, engine, cluster), "");
}

// Dispatch and combine of so many tokens on each of `ranks` ranks, which hold whole experts.
struct Exchange {
  std::vector<ServingTransfer> transfers{};
  std::vector<double> microseconds{};
};
Exchange exchange_of(ExpertExchange kind, double tokens, int ranks, const Model& model,
                     const Engine& engine, const ServingCluster& cluster) {
  ReplicaOptions options;
  options.layout.data_parallel_size = options.layout.expert_parallel_size = ranks;
  options.exchange = kind;
  LayerCounts layers;
  layers.of({.mixture_of_experts = true}) = 1;
  Exchange found;
  found.transfers =
      pass_transfers(model, cluster, options, {.rows = tokens, .layers = layers, .head = false});
  for (const ServingTransfer& one : found.transfers) {
    const Seconds time = transfer_cost(one.transfer, options, engine, cluster).time;
    found.microseconds.push_back(time / microseconds(1));
  }
  return found;
}

// GB200, 8 ranks, 128 tokens of DeepSeek-V3: prepare and dispatch 14.6 + 22.8 us, combine 37.1 us.
// A token goes to 7 (1 - (7 / 8)^8) = 4.6 other ranks: 25.8 us + 128 * 4.6 * 7,168 * 1.031 B /
// (0.471 * 900 GB/s) = 36.1 us, and 13.7 us + 8.4 MB / (0.444 * 900 GB/s) = 34.8 us.
TEST(TransferCost, OfNvlinkIsTensorRtLlmsOnGb200) {
  EXPECT_NEAR(ranks_of_token(8, 8) * 7 / 8, 4.595, 0.001);
  const Exchange found =
      exchange_of(ExpertExchange::nvlink_all_to_all, 128, 8, test::shipped_model("deepseek-v3"),
                  test::shipped_engine("tensorrt-llm-1.3"), test::shipped_cluster("gb200-nvl72"));
  ASSERT_EQ(found.transfers.size(), 2U);
  EXPECT_NEAR(found.microseconds[0], 36.1, 0.1);
  EXPECT_NEAR(found.microseconds[1], 34.8, 0.1);
  // What is printed as sent is what was timed.
  EXPECT_NEAR(found.transfers[1].transfer.sent().value(), 128 * 4.595 * 7168 * 2, 2e3);
}

// DeepEP sends one copy to each rank with experts of a token: 3.119 of 4 for DeepSeek-V3, whose 8
// experts lie in 4 of 8 groups (places_of_token, as training's flex dispatcher). Dispatched in fp8
// with 4 bytes for 128 numbers; three quarters of the copies leave a rank.
TEST(TransferCost, OfHighThroughputIsOneCopyForEachRank) {
  const ServingCluster cluster = test::shipped_cluster("h100-8");
  const Exchange found = exchange_of(ExpertExchange::deepep_high_throughput, 100, 4,
                                     test::shipped_model("deepseek-v3"),
                                     test::shipped_engine("sglang-0.5.14"), cluster);
  ASSERT_EQ(found.transfers.size(), 2U);
  const Transfer& dispatch = found.transfers[0].transfer;
  EXPECT_NEAR(dispatch.payload.value(), 100 * 3.119 * 7168 * (1 + 4.0 / 128), 1e-6);
  EXPECT_NEAR(dispatch.sent() / dispatch.payload, 0.75, 1e-12);
  Layout ranks;
  ranks.tensor_parallel_size = 4;
  const Cost timed = collective_cost(Collective::all_to_all, dispatch.payload,
                                     place(Group::tensor, ranks, cluster), cluster);
  EXPECT_NEAR(found.microseconds[0], timed.time / microseconds(1), 1e-9);
}

// Every rank gets all tokens, and the outputs of all are summed: 4 * 100 * 7,168 * 2 bytes each.
TEST(TransferCost, OfAnAllReducedExchangeIsThatOfAllTokens) {
  const ServingCluster cluster = test::shipped_cluster("h100-8");
  const Engine engine = test::shipped_engine("vllm-0.24");
  const Exchange found = exchange_of(ExpertExchange::all_reduce, 100, 4,
                                     test::shipped_model("deepseek-v3"), engine, cluster);
  ASSERT_EQ(found.transfers.size(), 2U);
  const Bytes all = bytes(4.0 * 100 * 7168 * 2);
  EXPECT_EQ(found.transfers[0].transfer.collective, Collective::all_gather);
  EXPECT_EQ(found.transfers[0].transfer.payload, all);
  EXPECT_EQ(found.transfers[1].transfer.collective, Collective::all_reduce);
  EXPECT_EQ(found.transfers[1].transfer.payload, all);
  EXPECT_NEAR(found.microseconds[1],
              all_reduce_cost(all, 4, engine, cluster).time / microseconds(1), 1e-9);
}

TEST(UsedExchange, OfNvlinkNeedsWholeExpertsInOneDomainAndAKnownRate) {
  using enum ExpertExchange;
  const ServingCluster gb200 = test::shipped_cluster("gb200-nvl72");
  const ServingCluster h200 = test::shipped_cluster("h200-512");
  const auto used = [](int dp, int ep, const ServingCluster& cluster) {
    ReplicaOptions options;
    options.layout.data_parallel_size = dp;
    options.layout.expert_parallel_size = ep;
    options.exchange = nvlink_all_to_all;
    return used_exchange(options, cluster);
  };
  EXPECT_EQ(used(8, 8, gb200), nvlink_all_to_all);
  EXPECT_EQ(used(8, 1, gb200), all_gather_reduce_scatter);      // experts are cut
  EXPECT_EQ(used(144, 144, gb200), all_gather_reduce_scatter);  // two racks
  EXPECT_EQ(used(8, 8, h200), all_gather_reduce_scatter);       // no rate
}

// DeepEP on H100 (SERVING table): 37 and 67 us for 128 tokens of DeepSeek-V3, 116 and 259 for 512.
TEST(TransferCost, OfLowLatencyIsThePublishedTable) {
  const auto at = [&](double tokens, int ranks) {
    return exchange_of(ExpertExchange::deepep_low_latency, tokens, ranks,
                       test::shipped_model("deepseek-v3"), test::shipped_engine("sglang-0.5.14"),
                       test::shipped_cluster("h100-8"))
        .microseconds;
  };
  EXPECT_NEAR(at(128, 8).at(0), 37, 8);
  EXPECT_NEAR(at(128, 8).at(1), 67, 10);
  EXPECT_NEAR(at(512, 8).at(1), 259, 30);
  EXPECT_TRUE(at(8, 1).empty());
}

// The trial runs 16-bit models in fp32 on cores: 4 bytes a number. Quantized weights keep theirs.
TEST(ServedPrecision, OfCoresIsFp32) {
  Device device = round_device();
  EXPECT_EQ(served_precision(WeightFormat::bf16, device), Precision::bf16);
  EXPECT_DOUBLE_EQ(served_bytes(device), 2.0);
  device.kind = DeviceKind::cpu;
  EXPECT_EQ(served_precision(WeightFormat::bf16, device), Precision::fp32);
  EXPECT_EQ(served_precision(WeightFormat::fp8, device), Precision::fp8);
  EXPECT_DOUBLE_EQ(served_bytes(device), 4.0);
  EXPECT_DOUBLE_EQ(read_weight_bytes({}, device), 4.0);
}

// 3 experts of 8 tokens: each 32 -> 2 x 64, and 64 -> 32.
TEST(ExpertProducts, AreTwoProductsOfEachExpert) {
  Device device = round_device();
  device.kind = DeviceKind::cpu;
  device.gemm.front().precision = Precision::fp32;
  device.kernel_launch = microseconds(2);
  const Cost one = gemm_cost({1, 8, 128, 32}, Precision::fp32, device);
  const Cost other = gemm_cost({1, 8, 32, 64}, Precision::fp32, device);
  const Cost all = expert_products_cost(3, {8, 32, 64, true}, {}, device);
  EXPECT_NEAR(all.time / (3.0 * (one.time + other.time)), 1.0, 1e-12);
}

TEST(Rates, OfADeviceWithoutRowsAreThePooledOnes) {
  const DecodeAttentionRate rate =
      decode_rate({}, EngineKind::vllm, AttentionForm::grouped, KvCacheFormat::bf16);
  EXPECT_EQ(rate.provenance, Provenance::extrapolated);
  EXPECT_GT(rate.bandwidth_fraction, 0.7);
  EXPECT_EQ(expert_rate({}, EngineKind::vllm, WeightFormat::nvfp4).format, WeightFormat::nvfp4);
  EXPECT_EQ(expert_rate({}, EngineKind::vllm, WeightFormat::mxfp8).format, WeightFormat::fp8);
}

// Each sharding has rows of its own. Where one has none, the nearest of the same engine stands in.
TEST(Rates, OfExpertsAreThoseOfTheirSharding) {
  using enum ExpertSharding;
  InferenceRates rates;
  rates.experts = {
      {.format = WeightFormat::fp8, .latency = microseconds(1)},
      {.format = WeightFormat::fp8, .sharding = expert_parallel, .latency = microseconds(2)},
      {.format = WeightFormat::fp8, .sharding = tensor_parallel, .latency = microseconds(3)},
      {.format = WeightFormat::bf16, .latency = microseconds(4)},
      {.format = WeightFormat::bf16, .sharding = expert_parallel, .latency = microseconds(5)}};
  const auto latency = [&](WeightFormat format, ExpertSharding sharding) {
    return expert_rate(rates, EngineKind::vllm, format, sharding).latency;
  };
  EXPECT_EQ(latency(WeightFormat::fp8, none), microseconds(1));
  EXPECT_EQ(latency(WeightFormat::fp8, expert_parallel), microseconds(2));
  EXPECT_EQ(latency(WeightFormat::fp8, tensor_parallel), microseconds(3));
  EXPECT_EQ(latency(WeightFormat::bf16, tensor_parallel), microseconds(5));
}

}  // namespace
}  // namespace meshwright
