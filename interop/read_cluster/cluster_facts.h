// SPDX-License-Identifier: Apache-2.0
// What tools say about a machine, laid over a cluster of the same kind: sizes and wiring. Rates
// stay as the cluster has them unless a tool states the line rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interop/read_launch/place.h"
#include "sim/hardware/cluster.h"

namespace meshwright::interop {

struct ClusterFacts {
  std::string tool{};  // "nvidia-smi topo -m"
  std::optional<int> gpus_per_host{};
  std::optional<int> num_hosts{};
  std::optional<int> hosts_per_domain{};  // that one NVLink domain joins
  std::optional<int> gpus_per_island{};   // neighbours with links of their own; 0: none
  std::optional<NodeFabric> node_fabric{};
  std::optional<double> nvlink_gb_per_s{};  // of data, all links of a device, one way
  std::optional<int> nics_per_host{};
  std::optional<int> ports_listed{};     // of RDMA and up: NICs where no tool says nics_per_host
  std::optional<double> nic_gb_per_s{};  // line rate of one NIC
  std::optional<int> hosts_per_leaf{}, hosts_per_pod{};
  std::optional<NetworkFabric> network{};
  std::optional<double> spine_oversubscription{}, core_oversubscription{};
  std::optional<int> compute_capability{};  // 90 for CUDA's 9.0
  std::vector<std::string> devices{};       // the tools' words for them, such as "h100"
  std::vector<std::string> notes{};         // facts that are not modelled, or were excluded
};

// Says why NICs that hang on no GPU's PCIe switch do not count.
std::string nics_apart_note(int nics);

// All of several tools. Throws InputError where two of them differ, by their names.
ClusterFacts merged(const std::vector<ClusterFacts>& all);

struct ClusterChange {
  std::string field, before, after;
};
struct OverlaidCluster {
  Cluster cluster;
  std::vector<ClusterChange> changes;
  std::vector<std::string> notes;  // facts that were changed before use, and why
};
// Tools see one host: where the cluster's NVLink domain spans hosts, it stays, and theirs are the
// facts of a tray. Throws InputError: a device count that does not divide into domains; unless
// `forced`, another device than the cluster's, or other links between devices.
OverlaidCluster overlaid(Cluster cluster, const ClusterFacts& facts, const std::string& file,
                         bool forced = false);

}  // namespace meshwright::interop
