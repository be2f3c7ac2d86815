// SPDX-License-Identifier: Apache-2.0
// Measured decodes of DeepSeek-V3.2's attention modules, with indexer and linears, and measured
// hyper-connections of DeepSeek-V4, against predictions. AISimulate 0.13 tables: vLLM 0.24 and
// SGLang 0.5.14, vLLM 0.25. Every chip is predicted with the rates of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "sim/kernel_time/compute.h"
#include "sim/operators/builders.h"
#include "sim/serving/replica_cost.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

struct Decode {
  const char *cluster, *engine;
  KvCacheFormat kv_cache;
  WeightFormat weights;
  int heads, sequences, context;
  double microseconds;
};
constexpr Decode kDecodes[] = {
    {"hgx-b200", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 8, 1, 2, 78},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 8, 128, 131072, 580.4},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 16, 32, 2048, 121.1},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 128, 128, 1024, 252.9},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 32, 512, 4096,
     441.4},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 64, 8, 512, 120.8},
    {"hgx-b200", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 64, 64, 32768, 239.4},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 16, 128, 2048, 186.8},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 8, 32, 16, 90.6},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 64, 32, 2048,
     147.8},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 16, 64, 128,
     108.9},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 128, 256, 16,
     296.9},
    {"gb200-nvl72", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 32, 16, 32768,
     156.9},
    {"h100-8", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 1, 512, 2048, 703},
    {"h100-8", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 16, 16, 16, 123.6},
    {"h100-8", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 128, 32, 512, 240.6},
    {"h100-8", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 8, 16, 8, 113.8},
    {"h100-8", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 64, 32, 64, 137.4},
    {"h100-8", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 4, 1, 2, 103.5},
    {"h100-8", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 32, 2, 8192, 142.3},
    {"h100-8", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 1, 32, 32768,
     216.3},
    {"h100-8", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 16, 1, 1024, 110},
    {"h100-8", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 128, 1, 65536,
     184.8},
    {"h200-512", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 4, 1024, 512, 505.7},
    {"h200-512", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::bf16, 64, 1, 4, 122.1},
    {"h200-512", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 2, 32, 4096, 167.9},
    {"h200-512", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 16, 64, 131072, 506.3},
    {"h200-512", "vllm-0.24", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 1024, 8192, 2229},
    {"h200-512", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 8, 64, 128, 173.6},
    {"h200-512", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::bf16, 64, 64, 64, 207.3},
    {"h200-512", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 4, 4, 128, 103.7},
    {"h200-512", "vllm-0.24", KvCacheFormat::fp8_ds_mla, WeightFormat::fp8_block, 32, 8, 32, 121.9},
    {"hgx-b200", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 1, 16, 103.5},
    {"hgx-b200", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 16, 2048,
     141.5},
    {"hgx-b200", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 1, 12288,
     118.5},
    {"hgx-b200", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 32, 512, 126.2},
    {"gb200-nvl72", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 2, 32,
     105.6},
    {"gb200-nvl72", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 128, 2048,
     233.6},
    {"gb200-nvl72", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 4, 16384,
     123.4},
    {"gb200-nvl72", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 512, 512,
     275.4},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 2, 32, 144.6},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 16, 128, 161.9},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 128, 2048,
     354.9},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 1, 6144, 167},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 4, 16384, 178.1},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 32, 128, 202.2},
    {"h100-8", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 512, 512, 1547.1},
    {"h200-512", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 4, 65536,
     186.4},
    {"h200-512", "sglang-0.5.14", KvCacheFormat::bf16, WeightFormat::fp8_block, 128, 1024, 1,
     1357.3},
    {"h200-512", "sglang-0.5.14", KvCacheFormat::fp8, WeightFormat::fp8_block, 128, 16, 128, 159.8},
};

struct Streams {
  const char* cluster;
  bool input;  // mixed from the streams; else the output into them
  int hidden_size, tokens;
  double microseconds;  // of both blocks of a layer
};
constexpr Streams kStreams[] = {
    {"hgx-b200", false, 4096, 48, 6.6},
    {"hgx-b200", false, 4096, 2048, 53.7},
    {"hgx-b200", false, 4096, 12288, 275.5},
    {"hgx-b200", false, 4096, 65536, 1433},
    {"hgx-b200", false, 4096, 262144, 5706.5},
    {"hgx-b200", false, 7168, 48, 10.8},
    {"hgx-b200", false, 7168, 2048, 86.5},
    {"hgx-b200", false, 7168, 12288, 471.5},
    {"hgx-b200", false, 7168, 262144, 9823.6},
    {"hgx-b200", true, 4096, 48, 18.8},
    {"hgx-b200", true, 4096, 2048, 72.2},
    {"hgx-b200", true, 4096, 12288, 393.9},
    {"hgx-b200", true, 4096, 65536, 1714.8},
    {"hgx-b200", true, 4096, 262144, 6868.5},
    {"hgx-b200", true, 7168, 48, 24.9},
    {"hgx-b200", true, 7168, 2048, 116},
    {"hgx-b200", true, 7168, 12288, 648},
    {"hgx-b200", true, 7168, 262144, 11500},
    {"gb200-nvl72", false, 4096, 48, 8.8},
    {"gb200-nvl72", false, 4096, 2048, 51.7},
    {"gb200-nvl72", false, 4096, 12288, 264.2},
    {"gb200-nvl72", false, 4096, 65536, 1356.9},
    {"gb200-nvl72", false, 4096, 262144, 5364.1},
    {"gb200-nvl72", false, 7168, 48, 10.9},
    {"gb200-nvl72", false, 7168, 2048, 85.9},
    {"gb200-nvl72", false, 7168, 12288, 457.1},
    {"gb200-nvl72", false, 7168, 262144, 9494.8},
    {"gb200-nvl72", true, 4096, 48, 18.8},
    {"gb200-nvl72", true, 4096, 2048, 69.1},
    {"gb200-nvl72", true, 4096, 12288, 387.1},
    {"gb200-nvl72", true, 4096, 65536, 1726.9},
    {"gb200-nvl72", true, 4096, 262144, 6558},
    {"gb200-nvl72", true, 7168, 48, 23.1},
    {"gb200-nvl72", true, 7168, 2048, 115},
    {"gb200-nvl72", true, 7168, 12288, 625.5},
    {"gb200-nvl72", true, 7168, 262144, 10833},
    {"h100-8", false, 4096, 48, 6.9},
    {"h100-8", false, 4096, 2048, 109},
    {"h100-8", false, 4096, 12288, 620.2},
    {"h100-8", false, 4096, 65536, 3274.4},
    {"h100-8", false, 4096, 262144, 13074},
    {"h100-8", false, 7168, 48, 9.6},
    {"h100-8", false, 7168, 2048, 187.8},
    {"h100-8", false, 7168, 12288, 1086.5},
    {"h100-8", false, 7168, 262144, 23020},
    {"h100-8", true, 4096, 48, 20.2},
    {"h100-8", true, 4096, 2048, 120.4},
    {"h100-8", true, 4096, 12288, 650.5},
    {"h100-8", true, 4096, 65536, 3217.4},
    {"h100-8", true, 4096, 262144, 12767},
    {"h100-8", true, 7168, 48, 23.9},
    {"h100-8", true, 7168, 2048, 198.9},
    {"h100-8", true, 7168, 12288, 1132.5},
    {"h100-8", true, 7168, 262144, 22722},
    {"h200-512", false, 4096, 48, 6.3},
    {"h200-512", false, 4096, 2048, 78.4},
    {"h200-512", false, 4096, 12288, 446.2},
    {"h200-512", false, 4096, 65536, 2298.1},
    {"h200-512", false, 4096, 262144, 9398},
    {"h200-512", false, 7168, 48, 9.1},
    {"h200-512", false, 7168, 2048, 134.4},
    {"h200-512", false, 7168, 12288, 766.9},
    {"h200-512", false, 7168, 262144, 16589},
    {"h200-512", true, 4096, 48, 19},
    {"h200-512", true, 4096, 2048, 93.9},
    {"h200-512", true, 4096, 12288, 518.4},
    {"h200-512", true, 4096, 65536, 2401.1},
    {"h200-512", true, 4096, 262144, 9574.6},
    {"h200-512", true, 7168, 48, 22.2},
    {"h200-512", true, 7168, 2048, 150.3},
    {"h200-512", true, 7168, 12288, 880.3},
    {"h200-512", true, 7168, 262144, 16552},
};

using Errors = std::map<std::string, std::vector<double>>;
double median(std::vector<double> errors) {
  std::sort(errors.begin(), errors.end());
  return errors[errors.size() / 2];
}

double predicted(const Decode& one) {
  Model model = test::shipped_model("deepseek-v3.2");
  model.num_layers = 1;
  model.moe.reset();
  model.mtp_num_layers = model.vocab_size = 0;
  model.num_attention_heads = model.num_query_groups = one.heads;
  model.hybrid_layer_pattern = "*";
  ReplicaOptions options;
  options.kv_cache = one.kv_cache;
  options.weights.format = one.weights;
  Engine engine = test::shipped_engine(one.engine);
  engine.time_factor = 1.0;
  const ReplicaCost cost = replica_cost(model, test::shipped_cluster(one.cluster), engine, options);
  const StepTime time = step_time(cost, decode_step(one.sequences, one.context));
  return (time[StepTerm::linears] + time[StepTerm::small_kernels] +
          time[StepTerm::decode_attention])
      .value();
}

TEST(SparseTime, DecodesAreWithin15PercentInTheMedian) {
  Errors errors;
  for (const Decode& one : kDecodes) {
    errors[one.cluster].push_back(std::abs(predicted(one) / (one.microseconds * 1e-6) - 1.0));
  }
  for (const auto& [cluster, of_chip] : errors) EXPECT_LT(median(of_chip), 0.15) << cluster;
}

double predicted(const Streams& one, const Device& device) {
  Model model = test::shipped_model("deepseek-v4-flash");
  model.hidden_size = one.hidden_size;
  Numerics numerics;
  numerics.precision = Precision::bf16;
  const RankShape shape = rank_shape(numerics, {1, one.tokens, one.tokens}, {});
  Operators ops;
  if (one.input) append_stream_input(ops, true, model, shape);
  if (!one.input) ops.push_back(residual_operator("attention.residual", model, shape));
  double sum = 0;
  for (const Operator& op : ops) sum += forward_cost(op, Precision::bf16, device, 0).time.value();
  return 2.0 * sum;
}

TEST(SparseTime, HyperConnectionsAreWithin15PercentInTheMedian) {
  Errors errors;
  for (const Streams& one : kStreams) {
    const ServingCluster cluster = test::shipped_cluster(one.cluster);
    const double time = predicted(one, only_device(cluster));
    errors[one.cluster].push_back(std::abs(time / (one.microseconds * 1e-6) - 1.0));
  }
  for (const auto& [cluster, of_chip] : errors) {
    EXPECT_LT(median(of_chip), 0.15) << cluster;
  }
}

}  // namespace
}  // namespace meshwright
