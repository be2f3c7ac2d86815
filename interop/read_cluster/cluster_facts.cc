// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/cluster_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <type_traits>

#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

template <typename T>
std::string said(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return std::string(name_of(value));
  } else {
    return fmt::format("{}", value);
  }
}

template <typename T>
void take(std::optional<T>& target, std::string& from, const std::optional<T>& value,
          const std::string& tool, const char* what) {
  if (!value) return;
  if (target && !(*target == *value)) {
    throw InputError(
        tool, "",
        fmt::format("says {} {}, and {} says {}", what, said(*value), from, said(*target)),
        "give files of one and the same machine");
  }
  target = value;
  from = tool;
}

// Whether "h100" and "NVIDIA H100 SXM5 80 GB" can be one: a chip's name of letters and digits is in
// both, or one of them names none.
bool may_be(const std::string& said, const std::string& device) {
  const std::string name = lower_case(device);
  const std::string word = lower_case(said);
  for (const char* chip : {"v100", "a100", "a800", "h100", "h200", "h800", "h20", "gh200", "b200",
                           "b300", "gb200", "gb300", "l40", "l4", "mi250", "mi300x", "4090"}) {
    if (contains(word, chip)) return contains(name, chip);
  }
  return true;
}

class Overlay {
 public:
  explicit Overlay(Cluster& cluster, std::vector<ClusterChange>& changes)
      : cluster_(cluster), changes_(changes) {}

  void set(int Cluster::*member, const char* field, int value) {
    if (cluster_.*member == value) return;
    changes_.push_back({field, std::to_string(cluster_.*member), std::to_string(value)});
    cluster_.*member = value;
  }
  void set_fabric(NodeFabric fabric) {
    if (cluster_.node_fabric == fabric) return;
    changes_.push_back(
        {"node_fabric", std::string(name_of(cluster_.node_fabric)), std::string(name_of(fabric))});
    cluster_.node_fabric = fabric;
  }
  // Of one device: all NICs of a host over its devices.
  void set_network(double gb_per_s, const std::string& tool) {
    const double before = cluster_.inter_node.bandwidth / gigabytes_per_second(1);
    constexpr double kSame = 0.01;
    if (std::abs(before - gb_per_s) <= kSame * before) return;
    changes_.push_back({"inter_node.bandwidth_gb_per_s", fmt::format("{}", number_text(before)),
                        fmt::format("{}", number_text(gb_per_s))});
    cluster_.inter_node.bandwidth = gigabytes_per_second(gb_per_s);
    cluster_.inter_node.provenance = Provenance::datasheet;
    cluster_.inter_node.name += fmt::format(", line rate of {}", tool);
  }

 private:
  Cluster& cluster_;
  std::vector<ClusterChange>& changes_;
};

void set_hosts(Overlay& overlay, const Cluster& cluster, const ClusterFacts& facts,
               const std::string& file) {
  const int domain = facts.hosts_per_domain.value_or(1);
  if (facts.gpus_per_host) {
    overlay.set(&Cluster::gpus_per_node, "gpus_per_node", *facts.gpus_per_host * domain);
    const bool trays = domain > 1 || cluster.gpus_per_tray == *facts.gpus_per_host;
    overlay.set(&Cluster::gpus_per_tray, "gpus_per_tray", trays ? *facts.gpus_per_host : 0);
  }
  if (!facts.num_hosts) return;
  // Without the devices of a host, a domain is as large as the cluster has it.
  const bool has_domains = domain > 1;
  if (has_domains && *facts.num_hosts % domain != 0) {
    throw InputError(
        file, "",
        fmt::format("{} hosts do not divide into NVLink domains of {}", *facts.num_hosts, domain));
  }
  overlay.set(&Cluster::num_nodes, "num_nodes", *facts.num_hosts / domain);
  if (has_domains && !facts.gpus_per_host && cluster.gpus_per_node % domain != 0) {
    throw InputError(file, "",
                     fmt::format("domains of {} hosts, and {} devices a domain of the cluster, do "
                                 "not divide",
                                 domain, cluster.gpus_per_node),
                     "give `nvidia-smi topo -m` of a host, too");
  }
}

}  // namespace

ClusterFacts merged(const std::vector<ClusterFacts>& all) {
  ClusterFacts sum;
  std::string from[9];
  for (const ClusterFacts& f : all) {
    take(sum.gpus_per_host, from[0], f.gpus_per_host, f.tool, "devices a host");
    take(sum.num_hosts, from[1], f.num_hosts, f.tool, "hosts");
    take(sum.hosts_per_domain, from[2], f.hosts_per_domain, f.tool, "hosts an NVLink domain");
    take(sum.gpus_per_island, from[3], f.gpus_per_island, f.tool, "devices an island");
    take(sum.node_fabric, from[4], f.node_fabric, f.tool, "links");
    take(sum.nics_per_host, from[5], f.nics_per_host, f.tool, "NICs a host");
    take(sum.nic_gb_per_s, from[6], f.nic_gb_per_s, f.tool, "GB/s a NIC");
    take(sum.hosts_per_leaf, from[7], f.hosts_per_leaf, f.tool, "hosts a leaf");
    take(sum.hosts_per_pod, from[8], f.hosts_per_pod, f.tool, "hosts a pod");
    if (!f.device.empty()) sum.device = f.device;
    append_to_list(sum.tool, ", ", f.tool);
    sum.notes.insert(sum.notes.end(), f.notes.begin(), f.notes.end());
  }
  return sum;
}

OverlaidCluster overlaid(Cluster base, const ClusterFacts& facts, const std::string& file) {
  if (!facts.device.empty() && !may_be(facts.device, only_device(base).name)) {
    throw InputError(file, "",
                     fmt::format("is of {}, and the cluster's device is {}", facts.device,
                                 only_device(base).name),
                     "--onto names a cluster of the same device");
  }
  OverlaidCluster result{std::move(base), {}};
  Cluster& c = result.cluster;
  Overlay overlay(c, result.changes);
  set_hosts(overlay, c, facts, file);
  const int domain = facts.hosts_per_domain.value_or(1);
  if (facts.node_fabric) overlay.set_fabric(*facts.node_fabric);
  if (facts.gpus_per_island && *facts.gpus_per_island == 0) {
    overlay.set(&Cluster::gpus_per_island, "gpus_per_island", 0);
  }
  if (facts.gpus_per_island && *facts.gpus_per_island > 0 && c.gpus_per_island == 0) {
    throw InputError(
        file, "",
        fmt::format("has islands of {} devices, which the cluster has not", *facts.gpus_per_island),
        "--onto h100-pcie-pairs, or another cluster with islands");
  }
  if (facts.gpus_per_island && *facts.gpus_per_island > 0) {
    overlay.set(&Cluster::gpus_per_island, "gpus_per_island", *facts.gpus_per_island);
  }
  if (facts.nics_per_host) {
    overlay.set(&Cluster::nics_per_node, "nics_per_node", *facts.nics_per_host * domain);
  }
  if (facts.nic_gb_per_s && facts.nics_per_host) {
    overlay.set_network(*facts.nic_gb_per_s * *facts.nics_per_host * domain / c.gpus_per_node,
                        facts.tool);
  }
  // A leaf joins domains where all of their hosts hang on it.
  if (facts.hosts_per_leaf) {
    overlay.set(&Cluster::nodes_per_leaf, "nodes_per_leaf",
                std::max(1, *facts.hosts_per_leaf / domain));
  }
  if (facts.hosts_per_pod) {
    overlay.set(&Cluster::nodes_per_pod, "nodes_per_pod",
                std::max(1, *facts.hosts_per_pod / domain));
  }
  return result;
}

}  // namespace meshwright::interop
