// SPDX-License-Identifier: Apache-2.0
// Launch commands and manifests of inference engines, in shapes of our own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/serving/read_serving.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_options.h"
#include "sim/base/text.h"
#include "tests/unit/error_of.h"

namespace meshwright::interop {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

ServingLaunch launched(const std::string& text, const ShellInputs& inputs = {}) {
  return read_serving(text, "serve.sh", inputs);
}
const ReplicaOptions& only_options(const ServingLaunch& launch) {
  EXPECT_THAT(launch.pools, SizeIs(1));
  return launch.pools.front().options;
}

TEST(ServingLaunchVllm, EveryOptionOfTheTableIsRead) {
  const ServingLaunch l = launched(
      "vllm serve meta-llama/Llama-3.1-70B --tensor-parallel-size 4 --pipeline-parallel-size=2 \\\n"
      "  --gpu-memory-utilization 0.95 --max-num-seqs 256 --max-num-batched-tokens 8192 \\\n"
      "  --max-model-len 16384 --block-size 32 --kv-cache-dtype fp8 --quantization fp8 \\\n"
      "  --max-cudagraph-capture-size 512 --no-enable-prefix-caching --port 8000\n");
  const ReplicaOptions& o = only_options(l);
  EXPECT_EQ(l.engine, EngineKind::vllm);
  EXPECT_EQ(l.model, "meta-llama/Llama-3.1-70B");
  EXPECT_EQ(o.layout, (ReplicaLayout{.tensor_parallel_size = 4, .pipeline_parallel_size = 2}));
  EXPECT_EQ(o.memory_fraction, 0.95);
  EXPECT_EQ(o.max_num_seqs, 256);
  EXPECT_EQ(o.max_num_batched_tokens, 8192);
  EXPECT_EQ(o.max_model_len, 16384);
  EXPECT_EQ(o.block_size, 32);
  EXPECT_EQ(o.kv_cache, KvCacheFormat::fp8);
  EXPECT_EQ(l.weights, WeightFormat::fp8);
  EXPECT_EQ(l.pools.front().graph_max_batch, 512);
  EXPECT_EQ(l.prefix_caching, false);
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(l.passed_over, ElementsAre(AllOf(Field(&PassedOver::said, "--port 8000"),
                                               Field(&PassedOver::why, HasSubstr("address")))));
}

TEST(ServingLaunchVllm, ExpertsLieOverTensorAndDataRanks) {
  const ServingLaunch l = launched(
      "vllm serve m -tp 2 --data-parallel-size 4 --enable-expert-parallel "
      "--all2all-backend deepep_low_latency\n");
  EXPECT_EQ(only_options(l).layout,
            (ReplicaLayout{
                .tensor_parallel_size = 2, .data_parallel_size = 4, .expert_parallel_size = 8}));
  EXPECT_EQ(only_options(l).exchange, ExpertExchange::deepep_low_latency);
}

TEST(ServingLaunchVllm, DraftsStandInJson) {
  const ServingLaunch l = launched(
      "vllm serve m --speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 3}'\n");
  EXPECT_EQ(only_options(l).num_speculative_tokens, 3);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingLaunchVllm, TheImageSaysTheVersion) {
  const ServingLaunch l = launched(
      "docker run --gpus all --ipc=host -v ~/.cache:/root/.cache vllm/vllm-openai:v0.19.0 \\\n"
      "  --model Qwen/Qwen3-32B --tensor-parallel-size 2\n");
  EXPECT_EQ(l.engine_version, "0.19.0");
  EXPECT_EQ(l.model, "Qwen/Qwen3-32B");
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 2);
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_EQ(version_in_image("lmsysorg/sglang:v0.5.9-cu129"), "0.5.9");
  EXPECT_EQ(version_in_image("vllm/vllm-openai:latest"), "");
}

TEST(ServingLaunchSglang, DataRanksLieInsideTheTensorSize) {
  const ServingLaunch l = launched(
      "python3 -m sglang.launch_server --model-path m --tp 8 --dp 4 --enable-dp-attention "
      "--ep-size 8 --mem-fraction-static 0.8 --chunked-prefill-size 4096 "
      "--max-running-requests 128\n");
  const ReplicaOptions& o = only_options(l);
  EXPECT_EQ(o.layout,
            (ReplicaLayout{
                .tensor_parallel_size = 2, .data_parallel_size = 4, .expert_parallel_size = 8}));
  EXPECT_EQ(o.max_num_batched_tokens, 4096);
  EXPECT_EQ(o.max_num_seqs, 128);
}

TEST(ServingLaunchSglang, DataRanksWithoutAttentionAreReplicas) {
  const ServingLaunch l = launched("python -m sglang.launch_server --model m --tp 2 --dp 3\n");
  EXPECT_EQ(l.pools.front().replicas, 3);
  EXPECT_EQ(only_options(l).layout.data_parallel_size, 1);
}

TEST(ServingLaunchSglang, TheVerifiedTokenIsNoDraft) {
  const ServingLaunch l = launched(
      "sglang serve --model-path m --tp 8 --speculative-algorithm EAGLE "
      "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4\n");
  EXPECT_EQ(only_options(l).num_speculative_tokens, 3);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

constexpr char kTrtScript[] =
    "cat > extra.yaml <<EOF\n"
    "enable_attention_dp: true\n"
    "kv_cache_config:\n"
    "  dtype: fp8\n"
    "  free_gpu_memory_fraction: 0.85\n"
    "  enable_block_reuse: false\n"
    "cuda_graph_config:\n"
    "  enable_padding: true\n"
    "  max_batch_size: 256\n"
    "speculative_config:\n"
    "  decoding_type: MTP\n"
    "  num_nextn_predict_layers: 2\n"
    "EOF\n"
    "trtllm-serve deepseek-ai/DeepSeek-R1 --tp_size 8 --ep_size 4 --max_batch_size 256 \\\n"
    "  --max_num_tokens 8192 --backend pytorch --extra_llm_api_options extra.yaml\n";

TEST(ServingLaunchTensorRtLlm, TheYamlIsReadWithTheCommand) {
  const ServingLaunch l = launched(kTrtScript);
  const ReplicaOptions& o = only_options(l);
  EXPECT_EQ(o.layout,
            (ReplicaLayout{
                .tensor_parallel_size = 1, .data_parallel_size = 8, .expert_parallel_size = 4}));
  EXPECT_EQ(o.kv_cache, KvCacheFormat::fp8);
  EXPECT_EQ(o.memory_fraction, 0.85);
  EXPECT_EQ(o.num_speculative_tokens, 2);
  EXPECT_EQ(l.prefix_caching, false);
  EXPECT_EQ(l.pools.front().graph_max_batch, 256);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingLaunch, WhatIsNotKnownIsNamed) {
  const ServingLaunch l = launched(
      "vllm serve m --tensor-parallel-size $TP --cpu-offload-gb 10 --brand-new-option 3 "
      "--config there.yaml $EXTRA\n");
  EXPECT_THAT(l.not_understood,
              ElementsAre(AllOf(Field(&NotUnderstood::said, HasSubstr("$TP")),
                                Field(&NotUnderstood::why, HasSubstr("TP"))),
                          Field(&NotUnderstood::why, HasSubstr("memory of the host")),
                          Field(&NotUnderstood::why, HasSubstr("is no known option of vLLM")),
                          Field(&NotUnderstood::why, HasSubstr("not there to be read")),
                          Field(&NotUnderstood::said, "$EXTRA")));
}

TEST(ServingLaunch, VariablesMayBeStated) {
  const ServingLaunch l =
      launched("vllm serve m --tensor-parallel-size $TP\n", {.variables = {{"TP", "8"}}});
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 8);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingLaunch, AWrongNumberIsNotTaken) {
  const ServingLaunch l = launched("vllm serve m --tensor-parallel-size 0 --max-num-seqs many\n");
  EXPECT_THAT(l.not_understood, SizeIs(2));
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 1);
}

TEST(ServingLaunch, TheClientSaysTheLoad) {
  const ServingLaunch vllm = launched(
      "vllm serve m &\nvllm bench serve --model m --random-input-len 1000 --random-output-len 500 "
      "--random-range-ratio 0.2 --max-concurrency 64 --num-prompts 640\n");
  ASSERT_TRUE(vllm.load);
  // 1,000 (1 - 0.2) = 800 to 1,000 (1 + 0.2) = 1,200.
  EXPECT_EQ(vllm.load->lengths.input, 1200);
  EXPECT_DOUBLE_EQ(vllm.load->lengths.least_share, 0.8 / 1.2);
  EXPECT_EQ(vllm.load->concurrency, 64);
  const ServingLaunch sglang = launched(
      "python3 -m sglang.launch_server --model-path m &\npython3 -m sglang.bench_serving "
      "--random-input-len 1000 --random-output-len 500 --random-range-ratio 0.8 "
      "--request-rate 4\n");
  ASSERT_TRUE(sglang.load);
  EXPECT_EQ(sglang.load->lengths.input, 1000);
  EXPECT_DOUBLE_EQ(sglang.load->lengths.least_share, 0.8);
  EXPECT_EQ(sglang.load->request_rate, 4);
}

TEST(ServingLaunch, TwoPoolsAreADisaggregatedService) {
  const ServingLaunch l = launched(
      "python3 -m sglang.launch_server --model-path m --tp 4 --disaggregation-mode prefill &\n"
      "python3 -m sglang.launch_server --model-path m --tp 8 --disaggregation-mode decode &\n"
      "python3 -m sglang.launch_server --model-path m --tp 4 --disaggregation-mode prefill\n");
  ASSERT_THAT(l.pools, SizeIs(2));
  EXPECT_EQ(l.pools[0].role, PoolRole::prefill);
  EXPECT_EQ(l.pools[0].replicas, 2);
  EXPECT_EQ(l.pools[1].options.layout.tensor_parallel_size, 8);
  EXPECT_THAT(l.not_understood, IsEmpty());
  const ServingLaunch half =
      launched("python3 -m sglang.launch_server --model-path m --disaggregation-mode prefill\n");
  EXPECT_THAT(half.not_understood, Contains(Field(&NotUnderstood::said, "no decode pool")));
}

TEST(ServingManifest, ADeploymentOfVllm) {
  const ServingLaunch l = launched(
      "apiVersion: v1\nkind: Service\nmetadata:\n  name: llama\n---\n"
      "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: llama\nspec:\n  replicas: 3\n"
      "  template:\n    spec:\n      containers:\n      - name: vllm\n"
      "        image: vllm/vllm-openai:v0.17.1\n"
      "        args: [\"--model\", \"$(MODEL)\", \"--tensor-parallel-size\", \"4\"]\n"
      "        env:\n        - name: MODEL\n          value: meta-llama/Llama-3.1-70B\n"
      "        resources:\n          limits:\n            nvidia.com/gpu: 4\n");
  EXPECT_EQ(l.form, "Deployment");
  EXPECT_EQ(l.model, "meta-llama/Llama-3.1-70B");
  EXPECT_EQ(l.engine_version, "0.17.1");
  EXPECT_EQ(l.pools.front().replicas, 3);
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 4);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingManifest, GpusThatDoNotFitTheCommandAreNamed) {
  const ServingLaunch l = launched(
      "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
      "      - image: vllm/vllm-openai:v0.17.1\n"
      "        command: [\"sh\", \"-c\", \"vllm serve m --tensor-parallel-size 4\"]\n"
      "        resources:\n          limits:\n            nvidia.com/gpu: 8\n");
  EXPECT_THAT(l.not_understood,
              ElementsAre(AllOf(Field(&NotUnderstood::said, "8 GPUs of a container"),
                                Field(&NotUnderstood::why, HasSubstr("uses 4")))));
}

TEST(ServingManifest, ALeaderWorkerSetSpansNodes) {
  const ServingLaunch l = launched(
      "kind: LeaderWorkerSet\nspec:\n  replicas: 2\n  leaderWorkerTemplate:\n    size: 2\n"
      "    leaderTemplate:\n      spec:\n        containers:\n"
      "        - image: lmsysorg/sglang:v0.5.9\n          command:\n          - python3\n"
      "          - -m\n          - sglang.launch_server\n          - --model-path\n"
      "          - deepseek-ai/DeepSeek-V3\n          - --tp\n          - \"16\"\n"
      "          - --nnodes\n          - \"2\"\n"
      "          resources:\n            limits:\n              nvidia.com/gpu: \"8\"\n");
  EXPECT_EQ(l.form, "LeaderWorkerSet");
  EXPECT_EQ(l.engine, EngineKind::sglang);
  EXPECT_EQ(l.pools.front().replicas, 2);
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 16);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingManifest, ADynamoGraphHasTwoPools) {
  const ServingLaunch l = launched(
      "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nspec:\n  services:\n"
      "    Frontend:\n      replicas: 1\n"
      "    DecodeWorker:\n      subComponentType: decode\n      replicas: 1\n"
      "      resources:\n        limits:\n          gpu: \"8\"\n"
      "      extraPodSpec:\n        mainContainer:\n          image: vllm-runtime:0.19.0\n"
      "          command: [python3, -m, dynamo.vllm]\n"
      "          args: [--model, Qwen/Qwen3-32B, --tensor-parallel-size, \"8\"]\n"
      "    PrefillWorker:\n      subComponentType: prefill\n      replicas: 3\n"
      "      extraPodSpec:\n        mainContainer:\n"
      "          command: [python3, -m, dynamo.vllm]\n"
      "          args: [--model, Qwen/Qwen3-32B, --tensor-parallel-size, \"2\"]\n");
  ASSERT_THAT(l.pools, SizeIs(2));
  EXPECT_EQ(l.pools[0].role, PoolRole::decode);
  EXPECT_EQ(l.pools[0].gpus_of_container, 8);
  EXPECT_EQ(l.pools[1].role, PoolRole::prefill);
  EXPECT_EQ(l.pools[1].replicas, 3);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingManifest, LlmDSaysSizesBesideTheArguments) {
  const ServingLaunch l = launched(
      "modelArtifacts:\n  name: Qwen/Qwen3-32B\ndecode:\n  replicas: 1\n  parallelism:\n"
      "    tensor: 4\n  containers:\n  - image: ghcr.io/llm-d/llm-d:v0.2.0\n"
      "    modelCommand: vllmServe\n    args: [\"--max-model-len\", \"32000\"]\n"
      "prefill:\n  replicas: 4\n  parallelism:\n    tensor: 1\n  containers:\n"
      "  - image: ghcr.io/llm-d/llm-d:v0.2.0\n    modelCommand: vllmServe\n"
      "    args: [\"--max-model-len\", \"32000\"]\n");
  ASSERT_THAT(l.pools, SizeIs(2));
  EXPECT_EQ(l.model, "Qwen/Qwen3-32B");
  EXPECT_EQ(l.pools[0].replicas, 4);
  EXPECT_EQ(l.pools[1].options.layout.tensor_parallel_size, 4);
  EXPECT_EQ(l.pools[1].options.max_model_len, 32000);
  EXPECT_THAT(l.not_understood, IsEmpty());
}

TEST(ServingLaunch, OtherTextsAreRefused) {
  EXPECT_THAT(error_of([] { launched("torchrun train.py\n"); }),
              HasSubstr("serve.sh: starts no inference engine that is read"));
  EXPECT_FALSE(names_serving_engine("torchrun pretrain_gpt.py --num-layers 12"));
  EXPECT_TRUE(names_serving_engine("exec vllm serve m"));
}

TEST(ServingOptions, NoNameStandsTwice) {
  for (const EngineKind engine : {EngineKind::vllm, EngineKind::sglang, EngineKind::tensorrt_llm}) {
    for (const ServingOption& option : serving_options(engine)) {
      for (const std::string& name : split_words(option.names)) {
        if (name.ends_with('.')) continue;
        EXPECT_EQ(serving_option(engine, name), &option) << name;
      }
      const bool needs_why = option.use == OptionUse::nothing || option.use == OptionUse::refused ||
                             option.use == OptionUse::refused_if_on ||
                             option.use == OptionUse::refused_if_off;
      EXPECT_EQ(needs_why, !option.why.empty()) << option.names;
    }
  }
}

// Options that many launch lines have: each is read, or passed over with its reason.
TEST(ServingLaunch, CommonOptionsLoseNoWord) {
  for (const char* line :
       {"vllm serve m --swap-space 16 --enable-prompt-tokens-details --kv-events-config "
        "'{\"publisher\": \"zmq\"}' --mm-processor-kwargs '{}' --disable-cascade-attn "
        "--max-num-partial-prefills 1 --prefix-caching-hash-algo sha256 --enable-log-outputs",
        "sglang serve --model-path m --page-size 1 --radix-eviction-policy lru --grammar-backend "
        "xgrammar --enable-mscclpp --deepep-config c.json --show-time-cost --nccl-port 5000 "
        "--dist-timeout 3600 --enable-torch-compile --triton-attention-num-kv-splits 8",
        "trtllm-serve m --max_beam_width 1 --kv_cache_config.event_buffer_max_size 1024 "
        "--scheduler_config.capacity_scheduler_policy GUARANTEED_NO_EVICT --use_cuda_graph "
        "--guided_decoding_backend xgrammar",
        "python3 -m dynamo.vllm --model m --migration-limit 3 --namespace n --store-kv etcd"}) {
    EXPECT_THAT(launched(std::string(line) + "\n").not_understood, IsEmpty()) << line;
  }
}

// What changes the answer and has no record here is refused, whatever else is known.
TEST(ServingLaunch, OptionsThatChangeTheAnswerAreRefused) {
  for (const char* line :
       {"vllm serve m --num-scheduler-steps 10", "vllm serve m --disable-sliding-window",
        "sglang serve --model-path m --enable-dp-lm-head",
        "sglang serve --model-path m --enable-deterministic-inference",
        "sglang serve --model-path m --num-reserved-decode-tokens 64",
        "trtllm-serve m --scheduler_config.capacity_scheduler_policy MAX_UTILIZATION",
        "trtllm-serve m --batch_wait_timeout_ms 50"}) {
    EXPECT_THAT(launched(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
}

TEST(ServingLaunch, DynamosWorkersAreNamedBySwitches) {
  EXPECT_EQ(launched("python3 -m dynamo.vllm --model m --is-prefill-worker\n").pools.front().role,
            PoolRole::prefill);
  EXPECT_EQ(launched("python3 -m dynamo.vllm --model m --is-decode-worker\n").pools.front().role,
            PoolRole::decode);
}

// A command's output is one word of unknown value; --scheduler-recv-interval changes no number.
TEST(ServingLaunch, ACommandsOutputIsOneWord) {
  const ServingLaunch l = launched(
      "sglang serve --model-path m --scheduler-recv-interval $( [[ $C -gt 4 ]] && echo 30 || "
      "echo 10 ) --tp 8\n");
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 8);
  EXPECT_THAT(launched("sglang serve --model-path m --tp $( [[ $C -gt 4 ]] && echo 8 ) --port 1\n")
                  .not_understood,
              SizeIs(1));
}

// vllm#9658: two pods of four A100; of its arguments only the steps between schedulings are of an
// engine that is no longer predicted.
TEST(ServingLaunch, OfThreadVllm9658) {
  const ServingLaunch l = launched(
      "vllm serve --model=/models/llama --served-model-name=llama-31-70b-instruct "
      "--tensor-parallel-size=4 --port=5000 --distributed-executor-backend=ray --max-logprobs=1 "
      "--tokenizer-pool-size=128 --tokenizer-pool-type=ray --enable-prefix-caching --dtype=float16 "
      "--max-num-seqs=512 --max-model-len=32768 --disable-logprobs-during-spec-decoding "
      "--disable-log-requests --multi-step-stream-outputs=False --num-scheduler-steps=10\n");
  ASSERT_THAT(l.not_understood, SizeIs(1));
  EXPECT_THAT(l.not_understood.front().said, HasSubstr("--num-scheduler-steps"));
  EXPECT_EQ(only_options(l).max_num_seqs, 512);
  EXPECT_EQ(only_options(l).max_model_len, 32768);
}

// sglang#8561: the prefill side of its prefill and decode pools. Two batches that overlap are not
// predicted, and the decode side is not there, so that no verdict is given.
TEST(ServingLaunch, OfThreadSglang8561) {
  const ServingLaunch l = launched(
      "python3 -m sglang.launch_server --model-path DeepSeek-R1 "
      "--disaggregation-ib-device mlx5_1,mlx5_2,mlx5_3,mlx5_4 --disaggregation-bootstrap-port 8999 "
      "--page-size 1 --disaggregation-mode prefill --host 10.0.0.1 --port 30001 "
      "--trust-remote-code --dist-init-addr 10.0.0.1:5000 --nnodes 2 --node-rank 0 --tp-size 16 "
      "--max-running-requests 256 --cuda-graph-bs 256 --context-length 32768 "
      "--enable-two-batch-overlap --disable-radix-cache\n");
  ASSERT_THAT(l.not_understood, SizeIs(2));
  EXPECT_THAT(l.not_understood.front().why, HasSubstr("overlap"));
  EXPECT_EQ(l.not_understood.back().said, "no decode pool");
  EXPECT_EQ(l.pools.front().role, PoolRole::prefill);
  EXPECT_EQ(only_options(l).layout.tensor_parallel_size, 16);
  EXPECT_EQ(only_options(l).block_size, 1);
}

}  // namespace
}  // namespace meshwright::interop
