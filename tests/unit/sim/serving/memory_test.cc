// SPDX-License-Identifier: Apache-2.0
#include "sim/serving/memory.h"

#include <gtest/gtest.h>

#include "tests/unit/llama_model.h"
#include "tests/unit/sim/serving/shipped.h"

namespace meshwright {
namespace {

using test::shipped_cluster;
using test::shipped_engine;
using test::shipped_model;

ReplicaMemory memory_of(const Model& model, const std::string& cluster, const std::string& engine,
                        ReplicaOptions options) {
  const ServingCluster where = shipped_cluster(cluster);
  const Engine software = shipped_engine(engine);
  options = with_defaults(options, software, only_device(where), model);
  return replica_memory(model, only_device(where), software, options);
}

// LLMServingSim 5daddb2: Llama 8B in 16 bits on an RTX 4090, vLLM 0.19: 2,588 blocks of 16.
TEST(ReplicaMemory, OfLlamaOnARtx4090IsWhatVllmPrints) {
  const ReplicaMemory memory =
      memory_of(shipped_model("llama-3-8b"), "rtx-4090-8", "vllm-0.19", {});
  EXPECT_NEAR(memory.kv_blocks / 2588.0, 1.0, 0.05);
}

// Cores run a 16-bit model in fp32: weights and a token of the cache take twice the bytes.
TEST(ReplicaMemory, OfCoresIsThatOfFp32) {
  const Model model = shipped_model("llama-3-8b");
  ServingCluster where = shipped_cluster("h100-8");
  const Engine engine = shipped_engine("vllm-0.24");
  const ReplicaOptions options = with_defaults({}, engine, only_device(where), model);
  const ReplicaMemory gpu = replica_memory(model, only_device(where), engine, options);
  only_device(where).kind = DeviceKind::cpu;
  const ReplicaMemory cores = replica_memory(model, only_device(where), engine, options);
  EXPECT_EQ(cores.weights.total(), gpu.weights.total() * 2.0);
  EXPECT_EQ(cores.sequence.full_token, gpu.sequence.full_token * 2.0);
  EXPECT_EQ(cores.sequence.bytes_of(16), bytes(16.0 * 2 * 131'072));
}

// vllm#21348: Qwen3-235B in fp8 on 4 H100 under SGLang with mem_fraction_static 0.93: 367,404
// tokens.
TEST(ReplicaMemory, OfQwen235bOnH100IsWhatSglangPrints) {
  const Model model = shipped_model("qwen3-235b-a22b");
  const ReplicaMemory memory = memory_of(model, "h100-8", "sglang-0.5.5",
                                         {.weights = usual_scheme(WeightFormat::fp8, model),
                                          .layout = {.tensor_parallel_size = 4},
                                          .memory_fraction = 0.93});
  EXPECT_NEAR(memory.kv_tokens / 367'404.0, 1.0, 0.05);
}

// The same thread: 8.11 GiB are 178,880 tokens in vLLM, 48,681 B each: 192,512 / 4 and blocks.
TEST(ReplicaMemory, ATokenOfQwen235bTakesWhatVllmPrints) {
  const Model model = shipped_model("qwen3-235b-a22b");
  const SequenceCache cache = sequence_cache(model, {.layout = {.tensor_parallel_size = 4}}, 16);
  EXPECT_NEAR(gibibytes(8.11) / cache.full_token / 178'880.0, 1.0, 0.02);
}

// vllm#9658: Llama-3.1-70B in 16 bits, pods of 4 A100 with 80 GB, --max-num-seqs 512, 32 k context.
// 0.9 of 79.15 GiB less 141.1 GB / 4 of weights is 38.4 GiB a rank; 4 x 38.4 GiB / 327,680 B are
// 503,000 tokens before activations and graphs, 15.4 requests of 32,768: the cache and not 512 is
// the limit. Activations, graphs and NCCL take at most 4 GiB a rank more: 13.8.
TEST(ReplicaMemory, OfLlama70bOnFourA100HoldsAFewLongRequests) {
  const Model model = shipped_model("llama-3-70b");
  const ReplicaOptions options{.layout = {.tensor_parallel_size = 4}, .max_num_seqs = 512};
  const ReplicaMemory memory = memory_of(model, "a100-80gb-8", "vllm-0.12", options);
  EXPECT_GT(memory.requests_of(32'768), 13.5);
  EXPECT_LT(memory.requests_of(32'768), 15.5);
  // 1,024 tokens a request: 503,000 / 1,024 is 491, below 512, too.
  EXPECT_LT(memory.requests_of(1'024), 512);
}

// aiconfigurator#1396 and its PR 1511: Kimi-K2.5 NVFP4, fp8 cache, vLLM 0.22, workers of 4 B200
// with attention data ranks: 28.98 requests of 8,192 + 1,024 tokens a rank, 96 were assumed.
TEST(AdmittedRequests, OfKimiOnB200Are29ARank) {
  const Model model = shipped_model("kimi-k2");
  const ReplicaMemory memory =
      memory_of(model, "hgx-b200", "vllm-0.22",
                {.weights = usual_scheme(WeightFormat::nvfp4, model),
                 .kv_cache = KvCacheFormat::fp8,
                 .layout = {.data_parallel_size = 4, .expert_parallel_size = 4}});
  // 9,216 * 35,136 B are 0.3016 GiB.
  EXPECT_NEAR(in_gibibytes(memory.sequence.bytes_of(9216)), 0.3016, 0.0001);
  EXPECT_NEAR(memory.requests_of(9216), 28.98, 1.5);
}

// A device of 80 GiB at 0.9: 72 GiB less weights, activations and 0.15 GiB.
TEST(ReplicaMemory, UnderVllmIsTheFractionLessAllElse) {
  Device device;
  device.memory = gibibytes(80);
  Engine engine;
  engine.memory = {.rule = MemoryRule::of_device,
                   .fraction = 0.9,
                   .sampling_copies = 6,
                   .outside_alone = gibibytes(0.15)};
  const Model model = llama_model();
  const ReplicaOptions options{
      .max_num_seqs = 256, .max_num_batched_tokens = 2048, .block_size = 16};
  const ReplicaMemory memory = replica_memory(model, device, engine, options);
  // 256 * 128,256 * 4 B * 6 are 788 MB, above 2,048 * 2 B * (4 * 4,096 + 3 * 14,336) = 243 MB.
  EXPECT_DOUBLE_EQ(memory.activations.value(), 256.0 * 128256 * 4 * 6);
  const Bytes expected =
      gibibytes(72) - memory.weights.total() - memory.activations - gibibytes(0.15);
  EXPECT_NEAR(memory.kv_cache / expected, 1.0, 1e-12);
  EXPECT_EQ(memory.kv_blocks, std::floor(expected / bytes(131'072) / 16));
}

TEST(ReplicaMemory, UnderTensorRtIsAShareOfWhatIsFree) {
  Device device;
  device.memory = gibibytes(80);
  Engine engine;
  engine.memory = {.rule = MemoryRule::of_free,
                   .fraction = 0.5,
                   .sampling_copies = 0,
                   .outside_alone = gibibytes(1)};
  const ReplicaOptions options{.max_num_seqs = 1, .max_num_batched_tokens = 1, .block_size = 32};
  const ReplicaMemory memory = replica_memory(llama_model(), device, engine, options);
  const Bytes free = gibibytes(79) - memory.weights.total() - memory.activations;
  EXPECT_NEAR(memory.kv_cache / free, 0.5, 1e-12);
}

// 80 GiB are 81,920 MiB: 512 + 1.5 * 8,192 + 8 * 128 + 2 * 256 = 14,336 reserved: 0.825.
TEST(StaticMemoryFraction, ReservesForChunksAndGraphs) {
  Device device;
  device.memory = gibibytes(80);
  Engine engine;
  engine.graph_max_batch = 256;
  const Model model = llama_model();
  const ReplicaOptions options{.layout = {.tensor_parallel_size = 8},
                               .max_num_batched_tokens = 8192};
  EXPECT_NEAR(static_memory_fraction(model, device, engine, options), 0.825, 1e-9);
  // Small chunks: 10 GiB at least.
  engine.graph_max_batch = 8;
  EXPECT_NEAR(static_memory_fraction(model, device, engine, {.max_num_batched_tokens = 512}), 0.875,
              1e-9);
}

// 100,000 tokens of cache: 1,000 + 500 reserved admit 66, 1,000 + 1,000 50; two data ranks twice.
TEST(AdmittedRequests, DependOnWhatTheEngineReserves) {
  ReplicaMemory memory;
  memory.sequence = {bytes(1), bytes(0), 0, 1};
  memory.kv_cache = bytes(100'000);
  Engine engine;
  engine.full_cache = FullCache::recompute_newest;
  EXPECT_EQ(admitted_requests(memory, engine, {}, 1000, 1000), 66);
  engine.full_cache = FullCache::no_evict;
  EXPECT_EQ(admitted_requests(memory, engine, {}, 1000, 1000), 50);
  EXPECT_EQ(admitted_requests(memory, engine, {.layout = {.data_parallel_size = 2}}, 1000, 1000),
            100);
  EXPECT_EQ(admitted_requests(memory, engine, {.max_num_seqs = 8}, 1000, 1000), 8);
}

// 1,000 B of cache. 10 B a token: 100 tokens, 96 in blocks of 16. With 4 B of them in layers whose
// windows keep 32 and 16 tokens: (1,000 - 4 * 48) / 6 = 134, 128 in blocks. Within the window both
// kinds of layers take all: 400 / 10 = 40, 32 in blocks.
TEST(ReplicaMemory, LongestRequestIsInWholeBlocksAndWindowsTakeNoMoreThanTheyKeep) {
  ReplicaMemory memory;
  memory.kv_cache = bytes(1000);
  memory.sequence = {bytes(10), bytes(0), 0, 16};
  EXPECT_EQ(memory.longest_request(), 96);
  memory.sequence = {bytes(6), bytes(4), 32, 16};
  EXPECT_EQ(memory.longest_request(), 128);
  EXPECT_GE(memory.requests_of(128), 1.0);
  EXPECT_LT(memory.requests_of(129), 1.0);
  memory.kv_cache = bytes(400);
  EXPECT_EQ(memory.longest_request(), 32);
}

TEST(ReplicaMemory, MoreRanksLeaveMoreForTheCache) {
  const Model model = shipped_model("llama-3-70b");
  double before = -1;
  for (const int tp : {2, 4, 8}) {
    const double now =
        memory_of(model, "h100-8", "vllm-0.24", {.layout = {.tensor_parallel_size = tp}}).kv_tokens;
    EXPECT_GT(now, before);
    before = now;
  }
}

}  // namespace
}  // namespace meshwright
