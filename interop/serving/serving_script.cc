// SPDX-License-Identifier: Apache-2.0
// Options of several nodes: vLLM docs/serving/parallelism_scaling.md and
// data_parallel_deployment.md, SGLang server_args.py, TensorRT-LLM trtllm-serve. Ports that
// processes of one host would share: vLLM envs.py VLLM_NIXL_SIDE_CHANNEL_PORT (5600), SGLang
// --disaggregation-bootstrap-port (8998).
#include "interop/serving/serving_script.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "interop/serving/serving_process.h"
#include "interop/serving/serving_router.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

constexpr int kFirstPort = 8000, kGroupPort = 20000;
// Each data rank of an engine takes the next port.
constexpr int kSideChannelPort = 5600, kSideChannelStep = 64;

std::string host_variable(int host) { return fmt::format("$HOST_{}", host); }

int num_hosts(const std::vector<PlacedReplica>& placed) {
  return placed.empty() ? 1 : placed.back().host + 1;
}

// Processes of several hosts find each other by the hosts' addresses.
bool needs_addresses(const ServingLaunch& launch, const std::vector<PlacedReplica>& placed) {
  const bool spans = std::any_of(placed.begin(), placed.end(),
                                 [](const PlacedReplica& one) { return one.nodes > 1; });
  return spans || (has_pools(launch) && num_hosts(placed) > 1);
}

// MPI starts all processes of TensorRT-LLM from the first host.
bool started_elsewhere(const ServingLaunch& launch, const PlacedReplica& placed) {
  return launch.engine == EngineKind::tensorrt_llm && placed.node > 0;
}

void add_vllm_node(const LaunchedPool& pool, const PlacedReplica& placed, ServingProcess& process) {
  const int data = pool.options.layout.data_parallel_size;
  const std::string leader = host_variable(placed.first_host);
  const auto add = [&](const auto& name, const auto& value) {
    process.options.push_back(fmt::format("{} {}", name, value));
  };
  if (data > 1 && data % placed.nodes != 0) {
    throw InputError("data_parallel_size", "",
                     fmt::format("must be a multiple of the {} hosts of a replica in vLLM (got {})",
                                 placed.nodes, data));
  }
  if (data > 1) {
    const int here = data / placed.nodes;
    add("--data-parallel-size-local", here);
    add("--data-parallel-address", leader);
    if (placed.node > 0) add("--data-parallel-start-rank", here * placed.node);
  } else {
    add("--nnodes", placed.nodes);
    add("--node-rank", placed.node);
    add("--master-addr", leader);
  }
  if (placed.node > 0) process.options.emplace_back("--headless");
}

void add_node(const ServingLaunch& launch, const LaunchedPool& pool, const PlacedReplica& placed,
              ServingProcess& process) {
  if (launch.engine == EngineKind::vllm) return add_vllm_node(pool, placed, process);
  if (launch.engine == EngineKind::sglang) {
    process.options.push_back(fmt::format("--nnodes {}", placed.nodes));
    process.options.push_back(fmt::format("--node-rank {}", placed.node));
    process.options.push_back(
        fmt::format("--dist-init-addr {}:{}", host_variable(placed.first_host), kGroupPort));
    return;
  }
  std::vector<std::string> slots;
  for (int node = 0; node < placed.nodes; ++node) {
    slots.push_back(fmt::format("{}:{}", host_variable(placed.first_host + node), placed.devices));
  }
  process.before.push_back(fmt::format("mpirun -n {} -host {} trtllm-llmapi-launch",
                                       placed.nodes * placed.devices, fmt::join(slots, ",")));
}

void add_visible_devices(const ServingHosts& hosts, const PlacedReplica& placed,
                         ServingProcess& process) {
  const std::string_view variable = visible_devices_variable(hosts.device);
  if (variable.empty()) return;
  std::vector<int> devices(static_cast<std::size_t>(placed.devices));
  std::iota(devices.begin(), devices.end(), placed.first_device);
  process.before.push_back(fmt::format("{}={}", variable, fmt::join(devices, ",")));
}

// `place`: of the process on its host, from 0.
ServingProcess process_of(const ServingLaunch& launch, const ServingHosts& hosts,
                          const PlacedReplica& placed, int place, bool addresses) {
  const LaunchedPool& pool = launch.pools[placed.pool];
  ServingProcess process;
  process.name = fmt::format("{}-{}", name_of(pool.role), placed.replica);
  process.port = kFirstPort + place;
  const bool pools = pool.role != PoolRole::aggregated;
  if (pools && launch.engine == EngineKind::vllm) {
    process.before.push_back(
        fmt::format("VLLM_NIXL_SIDE_CHANNEL_PORT={}", kSideChannelPort + kSideChannelStep * place));
    if (addresses) {
      process.before.push_back("VLLM_NIXL_SIDE_CHANNEL_HOST=" + host_variable(placed.host));
    }
  }
  if (pool.role == PoolRole::prefill && launch.engine == EngineKind::sglang) {
    process.options.push_back(
        fmt::format("--disaggregation-bootstrap-port {}", kBootstrapPort + place));
  }
  // MPI's processes on other hosts do not get the variable, and take whole hosts.
  const bool by_mpi = launch.engine == EngineKind::tensorrt_llm && placed.nodes > 1;
  if (!by_mpi) add_visible_devices(hosts, placed, process);
  if (placed.nodes > 1) add_node(launch, pool, placed, process);
  return process;
}

std::string process_heading(const ServingLaunch& launch, const ServingHosts& hosts,
                            const PlacedReplica& placed) {
  std::string text =
      fmt::format("# {} replica {}", name_of(launch.pools[placed.pool].role), placed.replica);
  if (placed.nodes > 1) text += fmt::format(", node {} of {}", placed.node, placed.nodes);
  text += ": " + devices_text(hosts.device, placed.devices);
  if (started_elsewhere(launch, placed)) {
    text += fmt::format(", started from host {}", placed.first_host);
  }
  return text + "\n";
}

std::string script_head(const ServingLaunch& launch, const ServingHosts& hosts,
                        const std::vector<PlacedReplica>& placed, bool addresses) {
  std::string text =
      fmt::format("#!/usr/bin/env bash\n# {} {}\n", title_of(launch.engine), launch.engine_version);
  const int count = num_hosts(placed);
  if (count == 1) return text;
  text += fmt::format(
      "# {} hosts of {}. Run this file on each with the number of the host, "
      "0 to {}.\n",
      count, devices_text(hosts.device, hosts.devices), count - 1);
  if (addresses) {
    text += fmt::format("# Set HOST_0 to HOST_{} to the addresses of the hosts.\n", count - 1);
  }
  return text + "case \"$1\" in\n";
}

// Places of processes on their hosts, from 0. One that is started elsewhere takes none.
std::vector<int> places_of(const ServingLaunch& launch, const std::vector<PlacedReplica>& placed) {
  std::vector<int> places;
  int next = 0;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (i > 0 && placed[i].host != placed[i - 1].host) next = 0;
    places.push_back(next);
    if (!started_elsewhere(launch, placed[i])) ++next;
  }
  return places;
}

// The router, on the first host. Processes of a single host reach each other without addresses.
std::string router_text(const ServingLaunch& launch, const std::vector<PlacedReplica>& placed,
                        const std::vector<int>& places, bool addresses) {
  PoolAddresses pools;
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlacedReplica& one = placed[i];
    if (one.node > 0) continue;
    const bool prefill = launch.pools[one.pool].role == PoolRole::prefill;
    (prefill ? pools.prefill : pools.decode)
        .push_back({addresses ? host_variable(one.host) : "localhost", kFirstPort + places[i],
                    kBootstrapPort + places[i]});
  }
  return fmt::format("# router: clients ask port {} of this host\n{} &\n", kRouterPort,
                     fmt::join(router_lines(launch.engine, pools), "\n"));
}

}  // namespace

std::string serving_script(const ServingLaunch& launch, const ServingHosts& hosts) {
  const std::vector<PlacedReplica> placed = placed_replicas(launch, hosts);
  const std::vector<int> places = places_of(launch, placed);
  const bool addresses = needs_addresses(launch, placed), several = num_hosts(placed) > 1;
  std::string text = script_head(launch, hosts, placed, addresses);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    const PlacedReplica& one = placed[i];
    const bool first = i == 0 || one.host != placed[i - 1].host;
    if (several && first) text += fmt::format("\n# Host {0}\n{0})\n", one.host);
    text += process_heading(launch, hosts, one);
    if (!started_elsewhere(launch, one)) {
      std::vector<std::string> lines = process_lines(
          launch, launch.pools[one.pool], process_of(launch, hosts, one, places[i], addresses));
      lines.back() += " &";
      text += fmt::format("{}\n", fmt::join(lines, "\n"));
    }
    const bool last = i + 1 == placed.size() || placed[i + 1].host != one.host;
    if (!last) continue;
    if (one.host == 0 && has_pools(launch)) text += router_text(launch, placed, places, addresses);
    text += several ? "wait\n;;\n" : "wait\n";
  }
  if (several) {
    text +=
        fmt::format("\n*)\necho \"usage: $0 HOST, a number from 0 to {}\" >&2\nexit 2\n;;\nesac\n",
                    num_hosts(placed) - 1);
  }
  return text;
}

}  // namespace meshwright::interop
