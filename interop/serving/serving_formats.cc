// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_formats.h"

#include <algorithm>
#include <array>

#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

using Option = FormatOption;

// llm-d-modelservice, values.yaml.
constexpr std::array kLlmD{Option{"parallelism.tensor", "--tensor-parallel-size"},
                           Option{"parallelism.data", "--data-parallel-size"},
                           Option{"parallelism.dataLocal", "--data-parallel-size-local"}};
// KServe, config/llmisvcconfig. The template for one node passes the tensor size alone.
constexpr std::array kLlmInferenceService{
    Option{"parallelism.tensor", "--tensor-parallel-size"},
    Option{"parallelism.pipeline", "--pipeline-parallel-size"},
    Option{"parallelism.data", "--data-parallel-size"},
    Option{"parallelism.dataLocal", "--data-parallel-size-local"},
    Option{"parallelism.expert", "--enable-expert-parallel"}};
constexpr std::array kInferenceService{
    Option{"workerSpec.tensorParallelSize", "--tensor-parallel-size"},
    Option{"workerSpec.pipelineParallelSize", "--pipeline-parallel-size"}};
// Ray, python/ray/llm/_internal/serve/core/configs/llm_config.py.
constexpr std::array kRay{Option{"engine_kwargs.*", ""}};
// KAITO, pkg/model/interface.go: its share of memory, and the ConfigMap behind it.
constexpr std::array kKaito{Option{"gpu_memory_utilization", "--gpu-memory-utilization"},
                            Option{"vllm.*", ""}};
// NIM operator, api/apps/v1alpha1/nimservice_types.go.
constexpr std::array kNim{Option{"multiNode.parallelism.tensor", "--tensor-parallel-size"},
                          Option{"multiNode.parallelism.pipeline", "--pipeline-parallel-size"}};
// vLLM production-stack, helm/templates/deployment-vllm-multi.yaml.
constexpr std::array kProductionStack{
    Option{"enableLoRA", "--enable-lora"},
    Option{"vllmConfig.enableChunkedPrefill", "--enable-chunked-prefill"},
    Option{"vllmConfig.enablePrefixCaching", "--enable-prefix-caching",
           "--no-enable-prefix-caching"},
    Option{"vllmConfig.maxModelLen", "--max-model-len"},
    Option{"vllmConfig.dtype", "--dtype"},
    Option{"vllmConfig.tensorParallelSize", "--tensor-parallel-size"},
    Option{"vllmConfig.maxNumSeqs", "--max-num-seqs"},
    Option{"vllmConfig.gpuMemoryUtilization", "--gpu-memory-utilization"},
    Option{"vllmConfig.maxLoras", "--max-loras"},
    Option{"vllmConfig.extraArgs", ""}};

constexpr std::string_view kPod = "template.spec.containers.*.";
constexpr std::array kFormats{
    ServingFormat{"", "Deployment", "Deployment", "spec.", kPod},
    ServingFormat{"", "StatefulSet", "StatefulSet", "spec.", kPod},
    ServingFormat{"", "ReplicaSet", "ReplicaSet", "spec.", kPod},
    ServingFormat{"", "Job", "Job", "spec.", kPod},
    ServingFormat{"", "Pod", "Pod", "spec.", "containers.*."},
    ServingFormat{.api = "",
                  .claim = "LeaderWorkerSet",
                  .name = "LeaderWorkerSet",
                  .parts = "spec.",
                  .containers = "leaderWorkerTemplate.leaderTemplate.spec.containers.*. "
                                "leaderWorkerTemplate.workerTemplate.spec.containers.*.",
                  .nodes = "leaderWorkerTemplate.size"},
    ServingFormat{.api = "",
                  .claim = "DynamoGraphDeployment",
                  .name = "DynamoGraphDeployment",
                  .parts = "spec.services.*. spec.components.*.",
                  .containers = "extraPodSpec.mainContainer. podTemplate.spec.containers.*.",
                  .nodes = "multinode.nodeCount",
                  .gpus = "resources.limits.gpu",
                  .role = "subComponentType type"},
    ServingFormat{.api = "",
                  .claim = "modelArtifacts.",
                  .name = "llm-d values",
                  .parts = "prefill. decode.",
                  .containers = "containers.*.",
                  .nodes = "parallelism.workers",
                  .model = "modelArtifacts.name modelArtifacts.uri",
                  .program = "vllm serve",
                  .options = kLlmD},
    ServingFormat{.api = "serving.kserve.io/",
                  .claim = "LLMInferenceService",
                  .name = "LLMInferenceService",
                  .parts = "spec. spec.prefill.",
                  .containers = "template.containers.*.",
                  .replicas = "replicas scaling.minReplicas",
                  .model = "spec.model.uri spec.model.name",
                  .program = "vllm serve",
                  .options = kLlmInferenceService},
    ServingFormat{.api = "serving.kserve.io/",
                  .claim = "InferenceService",
                  .name = "InferenceService",
                  .parts = "spec.predictor.",
                  .containers = "model.",
                  .replicas = "minReplicas",
                  .nodes = "workerSpec.pipelineParallelSize",
                  .model = "spec.predictor.model.storageUri",
                  .program = "vllm serve",
                  .options = kInferenceService},
    ServingFormat{.api = "serving.kserve.io/",
                  .claim = "InferenceService",
                  .name = "InferenceService",
                  .parts = "spec.predictor.",
                  .containers = "containers.*.",
                  .replicas = "minReplicas"},
    ServingFormat{.api = "ray.io/",
                  .claim = "RayService",
                  .name = "RayService",
                  .text = "spec.serveConfigV2"},
    ServingFormat{.api = "",
                  .claim = "applications.",
                  .name = "Ray Serve",
                  .text = "applications.*.args.llm_configs"},
    ServingFormat{.api = "",
                  .claim = "applications.",
                  .name = "Ray Serve",
                  .parts = "applications.*.args.llm_configs.*. applications.*.args.llm_config. "
                           "applications.*.args.prefill_config. "
                           "applications.*.args.decode_config.",
                  .replicas = "deployment_config.num_replicas "
                              "deployment_config.autoscaling_config.min_replicas",
                  .model = "model_loading_config.model_source model_loading_config.model_id",
                  .program = "vllm serve",
                  .options = kRay},
    ServingFormat{.api = "",
                  .claim = "model_loading_config.",
                  .name = "LLMConfig of Ray Serve",
                  .replicas = "deployment_config.num_replicas "
                              "deployment_config.autoscaling_config.min_replicas",
                  .model = "model_loading_config.model_source model_loading_config.model_id",
                  .program = "vllm serve",
                  .options = kRay},
    ServingFormat{.api = "kaito.sh/",
                  .claim = "Workspace",
                  .name = "Workspace",
                  .nodes = "resource.count",
                  .model = "inference.preset.name",
                  .program = "vllm serve",
                  .options = kKaito},
    ServingFormat{.api = "kaito.sh/",
                  .claim = "InferenceSet",
                  .name = "InferenceSet",
                  .parts = "spec.template.",
                  .replicas = "spec.replicas",
                  .nodes = "resource.count",
                  .model = "inference.preset.name",
                  .program = "vllm serve",
                  .options = kKaito},
    ServingFormat{.api = "apps.nvidia.com/",
                  .claim = "NIMService",
                  .name = "NIMService",
                  .parts = "spec.",
                  .replicas = "scale.hpa.minReplicas replicas",
                  .nodes = "multiNode.parallelism.pipeline",
                  .program = "nim-serve",
                  .options = kNim},
    ServingFormat{.api = "",
                  .claim = "servingEngineSpec.",
                  .name = "production-stack values",
                  .parts = "servingEngineSpec.modelSpec.*.",
                  .replicas = "replicaCount",
                  .gpus = "requestGPU",
                  .model = "modelURL",
                  .program = "vllm serve",
                  .options = kProductionStack}};

struct Machines {
  std::string_view names;
  int gpus;
};
// KAITO, pkg/sku.
constexpr std::array kMachines{
    Machines{"Standard_NC4as_T4_v3 Standard_NC8as_T4_v3 Standard_NC16as_T4_v3 "
             "Standard_NV36ads_A10_v5 Standard_NC24ads_A100_v4 Standard_NC40ads_H100_v5 "
             "Standard_NCC40ads_H100_v5 g5.xlarge g5.2xlarge g5.4xlarge g5.8xlarge g5.16xlarge "
             "g6.xlarge g6.2xlarge g6.4xlarge g6.8xlarge g6.16xlarge p3.2xlarge",
             1},
    Machines{"Standard_NV72ads_A10_v5 Standard_NC48ads_A100_v4 Standard_NC80adis_H100_v5", 2},
    Machines{"Standard_NC64as_T4_v3 Standard_NC96ads_A100_v4 g5.12xlarge g5.24xlarge g6.12xlarge "
             "g6.24xlarge p3.8xlarge",
             4},
    Machines{"Standard_ND96asr_A100_v4 Standard_ND96amsr_A100_v4 Standard_ND96isr_H100_v5 "
             "Standard_ND96isr_H200_v5 g5.48xlarge g6.48xlarge p3.16xlarge p3dn.24xlarge "
             "p4d.24xlarge p4de.24xlarge p5.48xlarge p5e.48xlarge p5en.48xlarge",
             8}};

}  // namespace

std::span<const ServingFormat> serving_formats() { return kFormats; }

bool claims_serving_format(std::string_view text) {
  return std::any_of(kFormats.begin(), kFormats.end(), [&](const ServingFormat& format) {
    if (format.program.empty() && format.text.empty()) return false;
    if (!format.claim.ends_with('.')) {
      return contains(text, "kind: " + std::string(format.claim)) && contains(text, format.api);
    }
    const std::string key = std::string(format.claim.substr(0, format.claim.size() - 1)) + ":";
    const bool ray = format.claim != "applications." || contains(text, "llm_config");
    return ray && (text.starts_with(key) || contains(text, "\n" + key));
  });
}

int gpus_of_machine(std::string_view name) {
  for (const Machines& machines : kMachines) {
    const std::vector<std::string> names = split_words(machines.names);
    if (std::find(names.begin(), names.end(), name) != names.end()) return machines.gpus;
  }
  return 0;
}

}  // namespace meshwright::interop
