// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/write_serving.h"

#include <fmt/format.h>

#include <vector>

#include "interop/serving/serving_image.h"
#include "interop/serving/serving_process.h"
#include "interop/serving/serving_router.h"
#include "interop/serving/serving_script.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

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
constexpr std::string_view kPodAddress =
    "        env:\n        - name: VLLM_NIXL_SIDE_CHANNEL_HOST\n          valueFrom:\n"
    "            fieldRef:\n              fieldPath: status.podIP\n";

// Pods of one container. Those of a StatefulSet have addresses of their own, NAME-0.NAME and on.
struct PodSet {
  std::string_view kind;
  std::string name;
  int replicas = 1;
  std::vector<std::string> lines;  // of the container's shell
  std::string rest{};              // of the container
};

std::string pods_text(const PodSet& pods, const std::string& image) {
  const std::string of_set =
      pods.kind == "StatefulSet"
          ? fmt::format("  serviceName: {}\n  podManagementPolicy: Parallel\n", pods.name)
          : "";
  return fmt::format(
      "---\napiVersion: apps/v1\nkind: {0}\nmetadata:\n  name: {1}\nspec:\n{2}"
      "  replicas: {3}\n  selector:\n    matchLabels:\n      app: {1}\n  template:\n"
      "    metadata:\n      labels:\n        app: {1}\n    spec:\n      containers:\n"
      "      - name: engine\n        image: {4}\n{5}{6}",
      pods.kind, pods.name, of_set, pods.replicas, image, container_text(pods.lines, 8), pods.rest);
}

// `headless`: it only gives its pods addresses.
std::string service_text(const std::string& name, const std::string& pods, int port,
                         bool headless = false) {
  return fmt::format(
      "---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {}\nspec:\n{}  selector:\n"
      "    app: {}\n  ports:\n  - port: {}\n",
      name, headless ? "  clusterIP: None\n" : "", pods, port);
}

std::string pool_name(const LaunchedPool& pool) {
  return fmt::format("serve-{}", name_of(pool.role));
}

// The router of two pools, which clients reach as the service "serve".
std::string router_text(const ServingLaunch& launch, const std::string& image) {
  PoolAddresses addresses;
  for (const LaunchedPool& pool : launch.pools) {
    auto& replicas = pool.role == PoolRole::prefill ? addresses.prefill : addresses.decode;
    for (int i = 0; i < pool.replicas; ++i) {
      replicas.push_back({fmt::format("{0}-{1}.{0}", pool_name(pool), i)});
    }
  }
  return pods_text({"Deployment", "serve-router", 1, router_lines(launch.engine, addresses)},
                   image) +
         service_text("serve", "serve-router", kRouterPort);
}

void refuse_several_hosts(const LaunchedPool& pool, const ServingHosts& hosts) {
  const int needed = hosts_of_replica(pool, hosts);
  if (needed == 1) return;
  throw InputError("pools", "",
                   fmt::format("a replica of {} takes {} hosts, and a pod has one",
                               devices_text(hosts.device, num_gpus(pool.options.layout)), needed),
                   "use the form command or dynamo");
}

std::string kubernetes_text(const ServingLaunch& launch, const ServingHosts& hosts,
                            const std::string& image) {
  std::string text;
  const bool pools = has_pools(launch);
  for (const LaunchedPool& pool : launch.pools) {
    refuse_several_hosts(pool, hosts);
    const std::string name = pool_name(pool);
    std::string rest(pools && launch.engine == EngineKind::vllm ? kPodAddress : "");
    rest += fmt::format("        resources:\n          limits:\n            {}: {}\n",
                        device_resource(hosts.device), num_gpus(pool.options.layout));
    text += pods_text({pools ? "StatefulSet" : "Deployment", name, pool.replicas,
                       process_lines(launch, pool, {.name = name, .port = 8000}), rest},
                      image);
    text += service_text(pools ? name : "serve", name, 8000, pools);
  }
  return pools ? text + router_text(launch, image) : text;
}

std::string dynamo_text(const ServingLaunch& launch, const ServingHosts& hosts) {
  if (hosts.device != ServedDevice::nvidia_gpu) {
    throw InputError("device", "", "is no GPU of NVIDIA, which Dynamo's workers run on");
  }
  const DynamoImage image = dynamo_image(launch);
  std::string text = fmt::format("# {} {}. Dynamo {} has {}.\n", title_of(launch.engine),
                                 launch.engine_version, image.release, image.engine_version);
  text +=
      "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: serve\n"
      "spec:\n  services:\n    Frontend:\n      componentType: frontend\n      replicas: 1\n"
      "      extraPodSpec:\n        mainContainer:\n          image: " +
      image.name + "\n";
  for (const LaunchedPool& pool : launch.pools) {
    const std::string name = pool_name(pool);
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
        pool.replicas, num_gpus(pool.options.layout) / nodes, image.name);
    text += container_text(process_lines(launch, pool, {.name = name, .dynamo = true}), 10);
  }
  return text;
}

}  // namespace

std::string write_serving(const ServingLaunch& launch, ServingForm form,
                          const ServingHosts& hosts) {
  if (launch.pools.empty()) throw InputError("pools", "", "holds none to write");
  if (form == ServingForm::command) return serving_script(launch, hosts);
  if (form == ServingForm::dynamo) return dynamo_text(launch, hosts);
  return kubernetes_text(launch, hosts, engine_image(launch, hosts));
}

}  // namespace meshwright::interop
