// SPDX-License-Identifier: Apache-2.0
// What is written for an engine is read back as the same pools, over engines, forms and layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "interop/serving/read_serving.h"
#include "interop/serving/write_serving.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::HasSubstr;
using testing::Not;

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

ServingLaunch launch_of(EngineKind engine, std::vector<LaunchedPool> pools) {
  ServingLaunch launch;
  launch.engine = engine;
  launch.engine_version = "1.2.3";
  launch.model = "meta-llama/Llama-3.1-70B";
  launch.prefix_caching = false;
  launch.pools = std::move(pools);
  return launch;
}

void expect_read_back(const ServingLaunch& launch, ServingForm form, const ServingHosts& hosts) {
  const std::string text = write_serving(launch, form, hosts);
  const ServingLaunch back = read_serving(text, "written", {});
  EXPECT_EQ(back.engine, launch.engine) << text;
  EXPECT_EQ(back.model, launch.model) << text;
  EXPECT_EQ(sizes_of(back.pools), sizes_of(launch.pools)) << text;
  EXPECT_EQ(back.prefix_caching, launch.prefix_caching) << text;
  for (const NotUnderstood& one : back.not_understood) {
    ADD_FAILURE() << one.said << ": " << one.why << "\n" << text;
  }
  EXPECT_EQ(back.weights, launch.weights) << text;
  EXPECT_EQ(back.engine_version, "1.2.3") << text;
}

TEST(ServingWrite, EveryFormIsReadBackAsTheSamePools) {
  const ReplicaLayout dense{.tensor_parallel_size = 4, .pipeline_parallel_size = 2};
  const ReplicaLayout experts{.data_parallel_size = 8, .expert_parallel_size = 8};
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm}) {
    for (const ServingForm form :
         {ServingForm::command, ServingForm::kubernetes, ServingForm::dynamo}) {
      for (const ReplicaLayout& layout : {ReplicaLayout{}, dense, experts}) {
        for (const ServingHosts hosts : {ServingHosts{}, ServingHosts{8}}) {
          expect_read_back(launch_of(engine, {pool_of(PoolRole::prefill, layout, 3),
                                              pool_of(PoolRole::decode, layout, 1)}),
                           form, hosts);
          expect_read_back(launch_of(engine, {pool_of(PoolRole::aggregated, layout, 2)}), form,
                           hosts);
        }
      }
    }
  }
}

// Replicas of 16 GPUs on hosts of 8: tensor ranks and data ranks over both.
TEST(ServingWrite, ReplicasOfSeveralHostsAreReadBackAsTheSamePools) {
  const ReplicaLayout dense{.tensor_parallel_size = 8, .pipeline_parallel_size = 2};
  const ReplicaLayout experts{.data_parallel_size = 16, .expert_parallel_size = 16};
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm}) {
    for (const ServingForm form : {ServingForm::command, ServingForm::dynamo}) {
      for (const ReplicaLayout& layout : {dense, experts}) {
        for (const int replicas : {1, 2}) {
          expect_read_back(launch_of(engine, {pool_of(PoolRole::aggregated, layout, replicas)}),
                           form, {8});
        }
      }
    }
    const ServingLaunch launch = launch_of(engine, {pool_of(PoolRole::aggregated, dense, 2)});
    EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::kubernetes, {8}); }),
                HasSubstr("a replica of 16 GPUs takes 2 hosts, and a pod has one"));
  }
}

// Three replicas of four GPUs and two of one on hosts of eight: 4 + 4, then 4 + 1 + 1.
TEST(ServingWrite, ReplicasOfAHostHaveTheirOwnGpusAndPorts) {
  const ServingLaunch launch =
      launch_of(EngineKind::vllm, {pool_of(PoolRole::prefill, {}, 2),
                                   pool_of(PoolRole::decode, {.tensor_parallel_size = 4}, 3)});
  const std::vector<PlacedReplica> placed = placed_replicas(launch, {8});
  ASSERT_EQ(placed.size(), 5U);
  const std::vector<std::array<int, 3>> expected{
      {0, 0, 4}, {0, 4, 4}, {1, 0, 4}, {1, 4, 1}, {1, 5, 1}};
  for (std::size_t i = 0; i < placed.size(); ++i) {
    EXPECT_EQ((std::array{placed[i].host, placed[i].first_device, placed[i].devices}), expected[i]);
  }
  const std::string text = write_serving(launch, ServingForm::command, {8});
  const std::size_t second = text.find("\n# Host 1\n");
  ASSERT_NE(second, std::string::npos) << text;
  for (const char* words :
       {"# 2 hosts of 8 GPUs.", "# Set HOST_0 to HOST_1 to the addresses of the hosts.",
        "# Host 0\n", "# decode replica 0: 4 GPUs",
        "VLLM_NIXL_SIDE_CHANNEL_PORT=5600 VLLM_NIXL_SIDE_CHANNEL_HOST=$HOST_0 "
        "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve",
        "VLLM_NIXL_SIDE_CHANNEL_PORT=5664 VLLM_NIXL_SIDE_CHANNEL_HOST=$HOST_0 "
        "CUDA_VISIBLE_DEVICES=4,5,6,7 vllm serve"}) {
    EXPECT_THAT(text.substr(0, second), HasSubstr(words));
  }
  for (const char* words : {"CUDA_VISIBLE_DEVICES=0,1,2,3 vllm", "CUDA_VISIBLE_DEVICES=4 vllm",
                            "# prefill replica 0: 1 GPU\n", "CUDA_VISIBLE_DEVICES=5 vllm",
                            "--port 8000 &", "--port 8001 &", "--port 8002 &", "\nwait\n"}) {
    EXPECT_THAT(text.substr(second), HasSubstr(words));
  }
}

// The second node of each replica follows the first.
TEST(ServingWrite, ProcessesOfOneReplicaKnowTheirNodes) {
  const ReplicaLayout dense{.tensor_parallel_size = 8, .pipeline_parallel_size = 2};
  const ReplicaLayout experts{.data_parallel_size = 16, .expert_parallel_size = 16};
  const auto script = [](EngineKind engine, const ReplicaLayout& layout) {
    return write_serving(launch_of(engine, {pool_of(PoolRole::aggregated, layout, 2)}),
                         ServingForm::command, {8});
  };
  EXPECT_THAT(script(EngineKind::vllm, dense),
              testing::AllOf(HasSubstr("--node-rank 0"), HasSubstr("--headless"),
                             HasSubstr("--master-addr $HOST_2"), Not(HasSubstr("$HOST_3"))));
  EXPECT_THAT(script(EngineKind::vllm, experts),
              testing::AllOf(HasSubstr("--data-parallel-size-local 8"),
                             HasSubstr("--data-parallel-start-rank 8"),
                             HasSubstr("--data-parallel-address $HOST_2")));
  EXPECT_THAT(script(EngineKind::sglang, dense),
              testing::AllOf(HasSubstr("--node-rank 1"), HasSubstr("--dist-init-addr $HOST_2:")));
  EXPECT_THAT(script(EngineKind::tensorrt_llm, dense),
              testing::AllOf(HasSubstr("mpirun -n 16 -host $HOST_2:8,$HOST_3:8"),
                             HasSubstr("node 1 of 2: 8 GPUs, started from host 2")));
  const LaunchedPool twelve =
      pool_of(PoolRole::aggregated, {.tensor_parallel_size = 4, .pipeline_parallel_size = 3}, 1);
  const ServingLaunch launch = launch_of(EngineKind::vllm, {twelve});
  EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::command, {8}); }),
              HasSubstr("a replica of 12 GPUs does not fill whole hosts of 8"));
}

TEST(ServingWrite, NamesTheDevicesAsTheirMakerDoes) {
  const ServingLaunch launch = launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {}, 2)});
  const ServingHosts amd{8, ServedDevice::amd_gpu}, cores{2, ServedDevice::core};
  EXPECT_THAT(write_serving(launch, ServingForm::command, amd),
              HasSubstr("HIP_VISIBLE_DEVICES=1 vllm serve"));
  EXPECT_THAT(write_serving(launch, ServingForm::kubernetes, amd),
              testing::AllOf(HasSubstr("amd.com/gpu: 1"), HasSubstr("vllm/vllm-openai-rocm:v")));
  EXPECT_THAT(write_serving(launch, ServingForm::kubernetes, cores),
              testing::AllOf(HasSubstr("cpu: 1"), HasSubstr("vllm-cpu-release-repo:v")));
  EXPECT_THAT(write_serving(launch, ServingForm::command, cores),
              testing::AllOf(Not(HasSubstr("VISIBLE_DEVICES")), HasSubstr("replica 1: 1 core\n")));
  for (const ServingHosts& hosts : {amd, cores}) {
    EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::dynamo, hosts); }),
                HasSubstr("is no GPU of NVIDIA"));
  }
}

// A pod's cache is read at the pod's address.
TEST(ServingWrite, PodsOfTwoPoolsStateTheirAddress) {
  const ServingLaunch pools = launch_of(
      EngineKind::vllm, {pool_of(PoolRole::prefill, {}, 1), pool_of(PoolRole::decode, {}, 1)});
  EXPECT_THAT(write_serving(pools, ServingForm::kubernetes), HasSubstr("status.podIP"));
  const ServingLaunch one = launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {}, 2)});
  EXPECT_THAT(write_serving(one, ServingForm::kubernetes), Not(HasSubstr("status.podIP")));
}

// Each replica is named to the router: two prefill replicas and one decode replica.
TEST(ServingWrite, TwoPoolsHaveARouter) {
  const auto launch = [](EngineKind engine) {
    return launch_of(engine, {pool_of(PoolRole::prefill, {.tensor_parallel_size = 4}, 2),
                              pool_of(PoolRole::decode, {.tensor_parallel_size = 8}, 1)});
  };
  const std::string vllm = write_serving(launch(EngineKind::vllm), ServingForm::command, {8});
  EXPECT_THAT(vllm, HasSubstr("vllm-router --vllm-pd-disaggregation \\\n"
                              "  --prefill http://$HOST_1:8000 \\\n"
                              "  --prefill http://$HOST_1:8001 \\\n"
                              "  --decode http://$HOST_0:8000 \\\n"
                              "  --host 0.0.0.0 --port 8900 &\nwait\n;;\n"));
  EXPECT_THAT(write_serving(launch(EngineKind::sglang), ServingForm::command),
              testing::AllOf(HasSubstr("--pd-disaggregation"),
                             HasSubstr("--prefill http://localhost:8001 8999"),
                             HasSubstr("--decode http://localhost:8000 \\\n")));
  EXPECT_THAT(write_serving(launch(EngineKind::tensorrt_llm), ServingForm::kubernetes, {8}),
              testing::AllOf(HasSubstr("context_servers:\n            num_instances: 2"),
                             HasSubstr("- \"serve-prefill-1.serve-prefill:8000\""),
                             HasSubstr("trtllm-serve disaggregated -c router.yaml")));
  const ServingLaunch one = launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {}, 2)});
  EXPECT_THAT(write_serving(one, ServingForm::command), Not(HasSubstr("router")));
}

// A host runs its own processes alone.
TEST(ServingWrite, AScriptOfSeveralHostsAsksForTheHost) {
  const ServingLaunch launch =
      launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {.tensor_parallel_size = 8}, 2)});
  const std::string text = write_serving(launch, ServingForm::command, {8});
  EXPECT_THAT(text, testing::AllOf(HasSubstr("case \"$1\" in\n"), HasSubstr("\n0)\n"),
                                   HasSubstr("\n1)\n"), HasSubstr("usage: $0 HOST")));
  EXPECT_THAT(write_serving(launch, ServingForm::command), Not(HasSubstr("case")));
}

// Images are published with three numbers. Dynamo's are tagged by its own version: 1.3.1 has vLLM
// 0.23.0, and 1.4.2 0.26.0.
TEST(ServingWrite, ImagesArePublishedOnes) {
  ServingLaunch launch = launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {}, 1)});
  const auto image = [&](EngineKind engine, const char* version, ServingForm form,
                         ServingHosts hosts = {}) {
    launch.engine = engine;
    launch.engine_version = version;
    const std::string text = write_serving(launch, form, hosts);
    const std::size_t begin = text.find("image: ") + 7;
    return text.substr(begin, text.find('\n', begin) - begin);
  };
  const ServingHosts amd{8, ServedDevice::amd_gpu};
  constexpr auto kPods = ServingForm::kubernetes;
  EXPECT_EQ(image(EngineKind::vllm, "0.24", kPods), "vllm/vllm-openai:v0.24.0");
  EXPECT_EQ(image(EngineKind::vllm, "trial", kPods), "vllm/vllm-openai:latest");
  EXPECT_EQ(image(EngineKind::sglang, "0.5.14", kPods), "lmsysorg/sglang:v0.5.14");
  EXPECT_EQ(image(EngineKind::sglang, "0.5.14", kPods, amd),
            "lmsysorg/sglang:v0.5.14-rocm720-mi30x");
  EXPECT_EQ(image(EngineKind::tensorrt_llm, "1.3", kPods),
            "nvcr.io/nvidia/tensorrt-llm/release:1.3.0rc29");
  EXPECT_EQ(image(EngineKind::vllm, "0.24", ServingForm::dynamo),
            "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.3.1");
  EXPECT_EQ(image(EngineKind::sglang, "0.5.9", ServingForm::dynamo),
            "nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.0.2");
  EXPECT_EQ(image(EngineKind::tensorrt_llm, "1.0", ServingForm::dynamo),
            "nvcr.io/nvidia/ai-dynamo/tensorrtllm-runtime:0.7.1");
}

// Weights that are not as the checkpoint stores them are an option; an engine without one refuses.
TEST(ServingWrite, FormatsOfWeightsAreOptions) {
  ServingLaunch launch = launch_of(EngineKind::vllm, {pool_of(PoolRole::aggregated, {}, 1)});
  EXPECT_THAT(write_serving(launch, ServingForm::command), Not(HasSubstr("quantization")));
  launch.weights = WeightFormat::fp8_block;
  EXPECT_THAT(write_serving(launch, ServingForm::command),
              HasSubstr("--quantization fp8_per_block"));
  launch.engine = EngineKind::tensorrt_llm;
  EXPECT_THAT(write_serving(launch, ServingForm::command),
              HasSubstr("quant_config:\n  quant_algo: FP8_BLOCK_SCALES\n"));
  launch.weights = WeightFormat::mxfp8;
  EXPECT_THAT(error_of([&] { write_serving(launch, ServingForm::command); }),
              HasSubstr("TensorRT-LLM makes no mxfp8 weights of meta-llama/Llama-3.1-70B"));
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
