// SPDX-License-Identifier: Apache-2.0
// What is written for an engine is read back as the same pools, over engines, forms and layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/serving/read_serving.h"
#include "interop/serving/write_serving.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

// Leaves out what a file states besides: GPUs of containers, nodes, and vLLM's switch for experts.
std::vector<LaunchedPool> sizes_of(std::vector<LaunchedPool> pools) {
  for (LaunchedPool& pool : pools) {
    pool.gpus_of_container = pool.visible_gpus = pool.nodes = 0;
    pool.copies = 1;
    pool.expert_parallel = pool.spans_nodes = false;
  }
  std::sort(pools.begin(), pools.end(),
            [](const LaunchedPool& a, const LaunchedPool& b) { return a.role < b.role; });
  return pools;
}

LaunchedPool pool_of(PoolRole role, const ReplicaLayout& layout, int replicas) {
  LaunchedPool pool;
  pool.role = role;
  pool.replicas = replicas;
  pool.options.layout = layout;
  pool.options.kv_cache = KvCacheFormat::fp8;
  pool.options.memory_fraction = 0.85;
  pool.options.max_num_seqs = 256;
  pool.options.max_num_batched_tokens = 8192;
  pool.options.max_model_len = 16384;
  pool.options.block_size = 64;
  pool.options.num_speculative_tokens = 2;
  pool.graph_max_batch = 256;
  return pool;
}

TEST(ServingWrite, EveryFormIsReadBackAsTheSamePools) {
  const ReplicaLayout dense{.tensor_parallel_size = 4, .pipeline_parallel_size = 2};
  const ReplicaLayout experts{.data_parallel_size = 8, .expert_parallel_size = 8};
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm}) {
    for (const ServingForm form :
         {ServingForm::command, ServingForm::kubernetes, ServingForm::dynamo}) {
      for (const ReplicaLayout& layout : {ReplicaLayout{}, dense, experts}) {
        for (const bool disaggregated : {false, true}) {
          ServingLaunch launch;
          launch.engine = engine;
          launch.engine_version = "1.2.3";
          launch.model = "meta-llama/Llama-3.1-70B";
          launch.prefix_caching = false;
          if (disaggregated) {
            launch.pools.push_back(pool_of(PoolRole::prefill, layout, 3));
            launch.pools.push_back(pool_of(PoolRole::decode, layout, 1));
          } else {
            launch.pools.push_back(pool_of(PoolRole::aggregated, layout, 2));
          }
          const std::string text = write_serving(launch, form);
          const ServingLaunch back = read_serving(text, "written", {});
          EXPECT_EQ(back.engine, engine) << text;
          EXPECT_EQ(back.model, launch.model) << text;
          EXPECT_EQ(sizes_of(back.pools), sizes_of(launch.pools)) << text;
          EXPECT_EQ(back.prefix_caching, launch.prefix_caching) << text;
          for (const NotUnderstood& one : back.not_understood) {
            ADD_FAILURE() << one.said << ": " << one.why << "\n" << text;
          }
          if (form != ServingForm::command) {
            EXPECT_EQ(back.engine_version, "1.2.3") << text;
          }
        }
      }
    }
  }
}

TEST(ServingWrite, SizesThatAnEngineHasNoOptionForAreRefused) {
  ServingLaunch launch;
  launch.model = "m";
  launch.pools = {
      pool_of(PoolRole::aggregated, {.tensor_parallel_size = 8, .expert_parallel_size = 4}, 1)};
  EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::command); }),
              testing::HasSubstr("must be 1 or all 8 ranks in vLLM (got 4)"));
  launch.engine = EngineKind::tensorrt_llm;
  launch.pools = {
      pool_of(PoolRole::aggregated, {.tensor_parallel_size = 2, .data_parallel_size = 4}, 1)};
  EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::command); }),
              testing::HasSubstr("must be all GPUs or 1 in TensorRT-LLM"));
}

}  // namespace
}  // namespace meshwright::interop
