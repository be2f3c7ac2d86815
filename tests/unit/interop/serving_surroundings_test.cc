// SPDX-License-Identifier: Apache-2.0
// What stands around an engine's command: its environment, its GPUs, other nodes, and the manifest
// or compose file that starts it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "interop/serving/read_serving.h"
#include "interop/serving/serving_command.h"
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

ServingLaunch surrounded(const std::string& text, const ShellInputs& inputs = {}) {
  return read_serving(text, "serve.sh", inputs);
}

// The environment.

TEST(ServingEnvironment, VariablesThatSlowEveryStepAreNotUnderstood) {
  const ServingLaunch l =
      surrounded("export NCCL_P2P_DISABLE=1\nCUDA_LAUNCH_BLOCKING=1 vllm serve m -tp 8\n");
  EXPECT_THAT(l.not_understood,
              ElementsAre(AllOf(Field(&NotUnderstood::said, "CUDA_LAUNCH_BLOCKING=1"),
                                Field(&NotUnderstood::why, HasSubstr("waits for every kernel"))),
                          Field(&NotUnderstood::said, "NCCL_P2P_DISABLE=1")));
}

TEST(ServingEnvironment, OneGpuSendsNothing) {
  const ServingLaunch l = surrounded("NCCL_P2P_DISABLE=1 vllm serve m\n");
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(l.passed_over, Contains(Field(&PassedOver::said, "NCCL_P2P_DISABLE=1")));
}

TEST(ServingEnvironment, VariablesBetweenNodesAreAssumedToHaveNoEffect) {
  const ServingLaunch l = surrounded("NCCL_IB_DISABLE=1 vllm serve m -tp 8\n");
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(l.assumed, ElementsAre(Field(&Fact::field, "NCCL_IB_DISABLE")));
}

TEST(ServingEnvironment, TheFirstSchedulerIsNotPredicted) {
  EXPECT_THAT(surrounded("VLLM_USE_V1=0 vllm serve m\n").not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("first scheduler"))));
  EXPECT_THAT(surrounded("VLLM_USE_V1=1 vllm serve m\n").not_understood, IsEmpty());
}

TEST(ServingEnvironment, DockerSetsVariables) {
  const ServingLaunch l = surrounded(
      "docker run --gpus all -e VLLM_USE_V1=0 --env=VLLM_NEW=1 --env \"HF_TOKEN=x\" "
      "--env-file e.env vllm/vllm-openai:v0.11.0 --model m\n",
      {.read = [](const std::string& name) -> std::optional<std::string> {
        if (name != "e.env") return std::nullopt;
        return "# comment\nVLLM_LOGGING_LEVEL=DEBUG\nVLLM_OTHER=2\n";
      }});
  EXPECT_THAT(l.not_understood, ElementsAre(Field(&NotUnderstood::said, "VLLM_USE_V1=0"),
                                            Field(&NotUnderstood::said, "VLLM_NEW=1"),
                                            Field(&NotUnderstood::said, "VLLM_OTHER=2")));
}

// GPUs of the process.

TEST(ServingGpus, AProcessNeedsAllOfItsGpus) {
  for (const char* start :
       {"CUDA_VISIBLE_DEVICES=0,1 vllm serve m", "HIP_VISIBLE_DEVICES=0,1 vllm serve m",
        "docker run --gpus '\"device=0,1\"' vllm/vllm-openai:v0.11.0 --model m",
        "docker run --gpus 2 vllm/vllm-openai:v0.11.0 --model m"}) {
    EXPECT_THAT(surrounded(std::string(start) + " -tp 4\n").not_understood,
                ElementsAre(AllOf(Field(&NotUnderstood::said, "2 GPUs that the process may use"),
                                  Field(&NotUnderstood::why, HasSubstr("uses 4")))))
        << start;
    EXPECT_THAT(surrounded(std::string(start) + " -tp 2\n").not_understood, IsEmpty()) << start;
  }
}

// Each of two engines has its own devices.
TEST(ServingGpus, DevicesOfAnotherEngineAreNotCompared) {
  const ServingLaunch l = surrounded(
      "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m -tp 4 --disaggregation-mode prefill &\n"
      "CUDA_VISIBLE_DEVICES=4 vllm serve m --disaggregation-mode decode\n");
  EXPECT_THAT(l.not_understood, IsEmpty());
}

// Four tensor ranks and two whole copies need eight GPUs.
TEST(ServingGpus, CopiesOfOneProcessCount) {
  const std::string manifest =
      "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n"
      "      - image: lmsysorg/sglang:v0.5.9\n"
      "        command: [python3, -m, sglang.launch_server, --model-path, m, --tp, \"4\", --dp, "
      "\"2\"]\n        resources:\n          limits:\n            nvidia.com/gpu: 8\n";
  const ServingLaunch l = surrounded(manifest);
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_EQ(l.pools.front().replicas, 2);
}

// Other nodes.

TEST(ServingNodes, AProcessOfAnotherNodeIsNoReplica) {
  const ServingLaunch vllm = surrounded(
      "vllm serve m --data-parallel-size 16 --data-parallel-size-local 8 -ep &\n"
      "ssh node1 vllm serve m --headless --data-parallel-size 16 --data-parallel-size-local 8 "
      "--data-parallel-start-rank 8 -ep\n");
  ASSERT_THAT(vllm.pools, SizeIs(1));
  EXPECT_EQ(vllm.pools.front().replicas, 1);
  EXPECT_EQ(vllm.pools.front().options.layout.data_parallel_size, 16);
  const ServingLaunch sglang = surrounded(
      "python3 -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --node-rank 1 &\n"
      "python3 -m sglang.launch_server --model-path m --tp 16 --nnodes 2 --node-rank 0\n");
  ASSERT_THAT(sglang.pools, SizeIs(1));
  EXPECT_EQ(sglang.pools.front().replicas, 1);
  // Two leaders are two replicas.
  EXPECT_EQ(surrounded("vllm serve m -tp 2 --port 1 &\nvllm serve m -tp 2 --port 2\n")
                .pools.front()
                .replicas,
            2);
}

// One data rank here and one elsewhere: the process needs one GPU.
TEST(ServingNodes, OneLocalDataRankLeavesTheOthersToOtherNodes) {
  const std::string line = "CUDA_VISIBLE_DEVICES=0 vllm serve m --data-parallel-size 2 -ep ";
  EXPECT_THAT(surrounded(line + "--data-parallel-size-local 1\n").not_understood, IsEmpty());
  EXPECT_THAT(surrounded(line + "--nnodes 1\n").not_understood,
              ElementsAre(Field(&NotUnderstood::said, "1 GPU that the process may use")));
}

// Options that were passed over although their value changes the answer.

TEST(ServingOptionValues, WhatIsOnByDefaultMayBeSwitchedOff) {
  for (const char* line : {"vllm serve m --enable-chunked-prefill=False",
                           "trtllm-serve m --cuda_graph_config.enable_padding false"}) {
    EXPECT_THAT(surrounded(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(surrounded("vllm serve m --enable-chunked-prefill\n").not_understood, IsEmpty());
}

TEST(ServingOptionValues, AsynchronousSchedulingIsReadBothWays) {
  EXPECT_EQ(surrounded("vllm serve m\n").async_scheduling, std::nullopt);
  EXPECT_EQ(surrounded("vllm serve m --async-scheduling\n").async_scheduling, true);
  EXPECT_EQ(surrounded("vllm serve m --async-scheduling false\n").async_scheduling, false);
  EXPECT_EQ(surrounded("vllm serve m --no-async-scheduling\n").async_scheduling, false);
}

TEST(ServingOptionValues, ASwitchThatIsOffChangesNothing) {
  const ServingLaunch l = surrounded("vllm serve m --config c.yaml\n",
                                     {.read = [](const std::string&) -> std::optional<std::string> {
                                       return "enable-lora: false\nenable-eplb: false\n";
                                     }});
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(surrounded("trtllm-serve m --disable_overlap_scheduler 1\n").not_understood,
              SizeIs(1));
}

TEST(ServingOptionValues, TheCompilationConfigSaysGraphs) {
  const ServingLaunch eager =
      surrounded("vllm serve m --compilation-config '{\"cudagraph_mode\": \"NONE\"}'\n");
  EXPECT_TRUE(eager.pools.front().options.enforce_eager);
  EXPECT_THAT(eager.not_understood, IsEmpty());
  const ServingLaunch sizes =
      surrounded("vllm serve m -O '{\"cudagraph_capture_sizes\": [1, 2, 64], \"level\": 3}'\n");
  EXPECT_EQ(sizes.pools.front().graph_max_batch, 64);
  EXPECT_FALSE(sizes.pools.front().options.enforce_eager);
  EXPECT_THAT(surrounded("vllm serve m --compilation-config.cudagraph_mode NONE\n")
                  .pools.front()
                  .options.enforce_eager,
              true);
  for (const char* line : {"vllm serve m -O0", "vllm serve m -O 0",
                           "vllm serve m --compilation-config '{\"mode\": 0}'",
                           "vllm serve m --compilation-config '{broken'"}) {
    EXPECT_THAT(surrounded(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(surrounded("vllm serve m -O3\n").not_understood, IsEmpty());
}

TEST(ServingOptionValues, OverridesOfTheModelsShapeAreNotUnderstood) {
  for (const char* line :
       {"vllm serve m --hf-overrides '{\"num_hidden_layers\": 4}'",
        "vllm serve m --hf-overrides.num_hidden_layers 4",
        "sglang serve --model-path m --json-model-override-args '{\"num_hidden_layers\": 4}'",
        "vllm serve m --model-impl transformers"}) {
    EXPECT_THAT(surrounded(std::string(line) + "\n").not_understood, SizeIs(1)) << line;
  }
  EXPECT_THAT(surrounded("vllm serve m --model-impl auto --hf-overrides '{\"rope_scaling\": "
                         "{\"rope_type\": \"yarn\", \"factor\": 4.0}}'\n")
                  .not_understood,
              IsEmpty());
}

// The place stands in a column of its own.
TEST(ServingOptionValues, ReasonsDoNotRepeatTheOption) {
  const ServingLaunch l = surrounded("vllm serve m --max-num-seqs many\n");
  EXPECT_THAT(l.not_understood, ElementsAre(Field(&NotUnderstood::why,
                                                  "must be a whole number from 1 to 100000000")));
}

TEST(ServingOptionValues, ASwitchWithNoInFrontIsKnown) {
  EXPECT_THAT(surrounded("vllm serve m --no-disable-log-requests\n").not_understood, IsEmpty());
  EXPECT_THAT(surrounded("vllm serve m --no-enable-brand-new\n").not_understood, SizeIs(1));
}

TEST(ServingOptionValues, AnOptionAndItsValueInOneWordAreNamed) {
  const ServingLaunch l = surrounded("vllm serve m '--tensor-parallel-size 4'\n");
  EXPECT_THAT(l.not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("are one word here"))));
}

// GPUs are not compared with a size that is not known.
TEST(ServingGpus, AnUnknownSizeIsNamedOnce) {
  EXPECT_THAT(surrounded("CUDA_VISIBLE_DEVICES=0 vllm serve m -tp 4 -pp $PP\n").not_understood,
              SizeIs(1));
}

// vLLM: 32k is 32,000 and 8K is 8,192.
TEST(ServingOptionValues, TokensMayHaveASuffix) {
  const ServingLaunch l =
      surrounded("vllm serve m --max-model-len 32k --max-num-batched-tokens 8K\n");
  EXPECT_EQ(l.pools.front().options.max_model_len, 32000);
  EXPECT_EQ(l.pools.front().options.max_num_batched_tokens, 8192);
  EXPECT_THAT(surrounded("vllm serve m --max-model-len -1\n").not_understood, SizeIs(1));
}

TEST(ServingClient, AnUnknownValueIsNoLoad) {
  const std::string client =
      "vllm serve m &\nvllm bench serve --random-input-len 1000 --random-output-len 500 ";
  for (const char* rest :
       {"--max-concurrency 64 --request-rate $RATE", "--max-concurrency 64 --request-rate 4",
        "--max-concurrency 64 --random-range-ratio $R"}) {
    const ServingLaunch l = surrounded(client + rest + "\n");
    EXPECT_FALSE(l.load) << rest;
    EXPECT_THAT(l.assumed, Contains(Field(&Fact::field, "load"))) << rest;
  }
  EXPECT_TRUE(surrounded(client + "--max-concurrency 64\n").load);
}

// Manifests.

std::string deployment_of(const std::string& container) {
  return "kind: Deployment\nspec:\n  replicas: 2\n  template:\n    spec:\n      containers:\n" +
         container;
}

TEST(ServingManifest, TheContainersVariablesAreRead) {
  const std::string text = deployment_of(
      "      - image: vllm/vllm-openai:v0.17.1\n"
      "        args: [--model, m, --tensor-parallel-size, $(TP)]\n"
      "        env:\n        - {name: VLLM_USE_V1, value: \"0\"}\n"
      "        - name: TP\n          valueFrom: {configMapKeyRef: {name: c, key: tp}}\n"
      "        - {name: NCCL_P2P_DISABLE, value: \"1\"}\n");
  EXPECT_THAT(surrounded(text).not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("--set TP=VALUE")),
                          Field(&NotUnderstood::said, "VLLM_USE_V1=0")));
  const ServingLaunch stated = surrounded(text, {.variables = {{"TP", "4"}}});
  EXPECT_EQ(stated.pools.front().options.layout.tensor_parallel_size, 4);
  EXPECT_THAT(stated.not_understood, ElementsAre(Field(&NotUnderstood::said, "NCCL_P2P_DISABLE=1"),
                                                 Field(&NotUnderstood::said, "VLLM_USE_V1=0")));
}

TEST(ServingManifest, EveryEngineOfAPodIsRead) {
  const ServingLaunch l = surrounded(deployment_of(
      "      - image: ghcr.io/llm-d/llm-d-routing-sidecar:v0.2.0\n        args: [--port=8000]\n"
      "      - image: vllm/vllm-openai:v0.17.1\n        args: [--model, m]\n"
      "      - image: vllm/vllm-openai:v0.17.1\n        args: [--model, other]\n"));
  EXPECT_THAT(l.not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("another model than m"))));
}

TEST(ServingManifest, AnImageIsNamedByItsPathAndAProxyByItsName) {
  EXPECT_EQ(engine_of_image("nvcr.io/nvidia/tensorrt-llm/release:1.0.0"), EngineKind::tensorrt_llm);
  EXPECT_EQ(engine_of_image("ghcr.io/llm-d/llm-d:v0.2.0"), EngineKind::vllm);
  EXPECT_EQ(engine_of_image("ghcr.io/llm-d/llm-d-inference-scheduler:v0.2.0"), std::nullopt);
}

TEST(ServingManifest, AListAndAnAutoscalerAreRead) {
  const ServingLaunch l = surrounded(
      "kind: List\nitems:\n- kind: HorizontalPodAutoscaler\n  spec: {maxReplicas: 4}\n"
      "- kind: Deployment\n  spec:\n    replicas: 3\n    template:\n      spec:\n"
      "        containers:\n        - image: vllm/vllm-openai:v0.17.1\n"
      "          args: [--model, m]\n");
  EXPECT_EQ(l.pools.front().replicas, 3);
  EXPECT_THAT(l.assumed, ElementsAre(Field(&Fact::field, "replicas")));
}

// 4 nodes of 8 GPUs are reserved, and 8 x 2 are used.
TEST(ServingManifest, NodesOfALeaderWorkerSetAreCounted) {
  const std::string text =
      "kind: LeaderWorkerSet\nspec:\n  leaderWorkerTemplate:\n    size: 4\n    leaderTemplate:\n"
      "      spec:\n        containers:\n        - image: vllm/vllm-openai:v0.17.1\n"
      "          command: [sh, -c, \"vllm serve m --tensor-parallel-size 8 "
      "--pipeline-parallel-size ";
  const std::string rest =
      "\"]\n          resources:\n            limits:\n              nvidia.com/gpu: 8\n";
  EXPECT_THAT(surrounded(text + "2" + rest).not_understood,
              ElementsAre(Field(&NotUnderstood::said, "4 nodes of 8 GPUs")));
  EXPECT_THAT(surrounded(text + "$LWS_GROUP_SIZE" + rest).not_understood, IsEmpty());
}

TEST(ServingManifest, ATemplateOfHelmIsRefused) {
  EXPECT_THAT(error_of([] { surrounded("kind: Deployment\nspec: {replicas: {{ .Values.n }}}\n"); }),
              HasSubstr("is a template of Helm"));
}

TEST(ServingManifest, AScriptMayHaveTemplatesOfDockerAndOfChats) {
  const ServingLaunch l = surrounded(
      "docker inspect --format '{{ .State.Status }}' old\n"
      "cat > chat.jinja <<'EOF'\n{{- bos_token }}\nEOF\n"
      "vllm serve m -tp 4 --chat-template chat.jinja\n");
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_EQ(l.pools.front().options.layout.tensor_parallel_size, 4);
}

// Docker compose.

constexpr char kCompose[] =
    "x-engine: &engine\n  image: vllm/vllm-openai:${TAG:-v0.11.0}\n"
    "  environment:\n    VLLM_LOGGING_LEVEL: INFO\n"
    "services:\n  llama:\n    <<: *engine\n    command: >\n"
    "      --model meta-llama/Llama-3.1-70B --tensor-parallel-size ${TP}\n"
    "      --speculative-config '{\"method\": \"mtp\", \"num_speculative_tokens\": 2}'\n"
    "    deploy:\n      resources:\n        reservations:\n          devices:\n"
    "            - {driver: nvidia, count: 4, capabilities: [gpu]}\n"
    "  web:\n    image: nginx\n";

TEST(ServingCompose, AServiceIsRead) {
  const ServingLaunch l = surrounded(kCompose, {.variables = {{"TP", "4"}}});
  EXPECT_EQ(l.form, "docker compose");
  EXPECT_EQ(l.engine_version, "0.11.0");
  EXPECT_EQ(l.model, "meta-llama/Llama-3.1-70B");
  ASSERT_THAT(l.pools, SizeIs(1));
  EXPECT_EQ(l.pools.front().options.layout.tensor_parallel_size, 4);
  EXPECT_EQ(l.pools.front().options.num_speculative_tokens, 2);
  EXPECT_EQ(l.pools.front().visible_gpus, 4);
  EXPECT_THAT(l.not_understood, IsEmpty());
  EXPECT_THAT(l.passed_over, ElementsAre(Field(&PassedOver::said, "VLLM_LOGGING_LEVEL=INFO")));
}

TEST(ServingCompose, UnknownVariablesAndTooFewGpusAreNamed) {
  EXPECT_THAT(surrounded(kCompose).not_understood,
              ElementsAre(Field(&NotUnderstood::why, HasSubstr("TP"))));
  EXPECT_THAT(surrounded(kCompose, {.variables = {{"TP", "8"}}}).not_understood,
              ElementsAre(Field(&NotUnderstood::said, "4 GPUs that the process may use")));
}

TEST(ServingCompose, AListAndItsVariablesAreRead) {
  const ServingLaunch l = surrounded(
      "services:\n  prefill:\n    image: lmsysorg/sglang:v0.5.9\n"
      "    entrypoint: python3 -m sglang.launch_server\n"
      "    command: [--model-path, m, --tp, \"2\", --disaggregation-mode, prefill]\n"
      "    environment: [NCCL_P2P_DISABLE=1]\n"
      "  decode:\n    image: lmsysorg/sglang:v0.5.9\n"
      "    entrypoint: [bash, -c]\n"
      "    command: [\"python3 -m sglang.launch_server --model-path m --tp 4 "
      "--disaggregation-mode decode\"]\n    deploy: {replicas: 2}\n");
  ASSERT_THAT(l.pools, SizeIs(2));
  EXPECT_EQ(l.pools[0].role, PoolRole::decode);
  EXPECT_EQ(l.pools[0].replicas, 2);
  EXPECT_EQ(l.pools[1].options.layout.tensor_parallel_size, 2);
  EXPECT_THAT(l.not_understood, ElementsAre(Field(&NotUnderstood::said, "NCCL_P2P_DISABLE=1")));
}

}  // namespace
}  // namespace meshwright::interop
