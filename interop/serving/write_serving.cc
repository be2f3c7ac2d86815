// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/write_serving.h"

#include <fmt/format.h>

#include <vector>

#include "interop/serving/serving_process.h"
#include "interop/serving/serving_script.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

// vLLM docs/getting_started/installation: a repository for each kind of device.
std::string vllm_image(ServedDevice device) {
  if (device == ServedDevice::core) return "vllm/vllm-openai-cpu:";
  return device == ServedDevice::amd_gpu ? "vllm/vllm-openai-rocm:" : "vllm/vllm-openai:";
}

std::string public_image(const ServingLaunch& launch, const ServingHosts& hosts, bool dynamo) {
  const std::string& version = launch.engine_version;
  const std::string tag = version.empty() ? "latest" : version;
  if (dynamo) {
    const char* runtime = launch.engine == EngineKind::vllm     ? "vllm-runtime"
                          : launch.engine == EngineKind::sglang ? "sglang-runtime"
                                                                : "tensorrtllm-runtime";
    return fmt::format("nvcr.io/nvidia/ai-dynamo/{}:{}", runtime, tag);
  }
  const std::string with_v = version.empty() ? tag : "v" + version;
  if (launch.engine == EngineKind::vllm) return vllm_image(hosts.device) + with_v;
  if (launch.engine == EngineKind::sglang) return "lmsysorg/sglang:" + with_v;
  return "nvcr.io/nvidia/tensorrt-llm/release:" + tag;
}

// "command" and "args" of a container, so many blanks in.
std::string container_text(const std::vector<std::string>& lines, int blanks) {
  const std::string in(static_cast<std::size_t>(blanks), ' ');
  std::string text = in + "command: [\"bash\", \"-c\"]\n" + in + "args:\n" + in + "- |\n";
  for (const std::string& line : lines) text += in + "  " + line + "\n";
  return text;
}

// Of a container's resources.
std::string_view device_resource(ServedDevice device) {
  if (device == ServedDevice::core) return "cpu";
  return device == ServedDevice::amd_gpu ? "amd.com/gpu" : "nvidia.com/gpu";
}

// Pools read each other's caches at the address of their pods, not at the default localhost.
std::string pod_address(const ServingLaunch& launch, const LaunchedPool& pool) {
  if (launch.engine != EngineKind::vllm || pool.role == PoolRole::aggregated) return "";
  return "        env:\n        - name: VLLM_NIXL_SIDE_CHANNEL_HOST\n          valueFrom:\n"
         "            fieldRef:\n              fieldPath: status.podIP\n";
}

void refuse_several_hosts(const LaunchedPool& pool, const ServingHosts& hosts) {
  const int needed = hosts_of_replica(pool, hosts);
  if (needed == 1) return;
  throw InputError("pools", "",
                   fmt::format("a replica of {} takes {} hosts, and a pod has one",
                               devices_text(hosts.device, num_gpus(pool.options.layout)), needed),
                   "use the form command or dynamo");
}

std::string deployment_text(const ServingLaunch& launch, const ServingHosts& hosts,
                            const std::string& image) {
  std::string text;
  for (const LaunchedPool& pool : launch.pools) {
    refuse_several_hosts(pool, hosts);
    const std::string name = fmt::format("serve-{}", name_of(pool.role));
    text += fmt::format(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {0}\nspec:\n"
        "  replicas: {1}\n  selector:\n    matchLabels:\n      app: {0}\n  template:\n"
        "    metadata:\n      labels:\n        app: {0}\n    spec:\n      containers:\n"
        "      - name: engine\n        image: {2}\n",
        name, pool.replicas, image);
    text += container_text(process_lines(launch, pool, {.name = name, .port = 8000}), 8);
    text += pod_address(launch, pool);
    text += fmt::format("        resources:\n          limits:\n            {}: {}\n",
                        device_resource(hosts.device), num_gpus(pool.options.layout));
  }
  return text;
}

std::string dynamo_text(const ServingLaunch& launch, const ServingHosts& hosts,
                        const std::string& image) {
  if (hosts.device != ServedDevice::nvidia_gpu) {
    throw InputError("device", "", "is no GPU of NVIDIA, which Dynamo's workers run on");
  }
  std::string text =
      "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: serve\n"
      "spec:\n  services:\n    Frontend:\n      componentType: frontend\n      replicas: 1\n"
      "      extraPodSpec:\n        mainContainer:\n          image: " +
      image + "\n";
  for (const LaunchedPool& pool : launch.pools) {
    const std::string name = fmt::format("serve-{}", name_of(pool.role));
    const char* service = pool.role == PoolRole::prefill  ? "PrefillWorker"
                          : pool.role == PoolRole::decode ? "DecodeWorker"
                                                          : "Worker";
    text += fmt::format("    {}:\n      componentType: worker\n", service);
    if (pool.role != PoolRole::aggregated) {
      text += fmt::format("      subComponentType: {}\n", name_of(pool.role));
    }
    // GPUs are those of one host; Dynamo starts the others of a replica.
    const int nodes = hosts_of_replica(pool, hosts);
    if (nodes > 1) text += fmt::format("      multinode:\n        nodeCount: {}\n", nodes);
    text += fmt::format(
        "      replicas: {}\n      resources:\n        limits:\n          gpu: \"{}\"\n"
        "      extraPodSpec:\n        mainContainer:\n          image: {}\n",
        pool.replicas, num_gpus(pool.options.layout) / nodes, image);
    text += container_text(process_lines(launch, pool, {.name = name, .dynamo = true}), 10);
  }
  return text;
}

}  // namespace

std::string write_serving(const ServingLaunch& launch, ServingForm form, const ServingHosts& hosts,
                          const std::string& image) {
  if (launch.pools.empty()) throw InputError("pools", "", "holds none to write");
  if (form == ServingForm::command) return serving_script(launch, hosts);
  const bool dynamo = form == ServingForm::dynamo;
  const std::string used = image.empty() ? public_image(launch, hosts, dynamo) : image;
  return dynamo ? dynamo_text(launch, hosts, used) : deployment_text(launch, hosts, used);
}

}  // namespace meshwright::interop
