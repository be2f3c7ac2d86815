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
#include "sim/hardware/named_device.h"

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

class Overlay {
 public:
  explicit Overlay(Cluster& cluster, std::vector<ClusterChange>& changes)
      : cluster_(cluster), changes_(changes) {}

  void set(int Cluster::*member, const char* field, int value) {
    if (cluster_.*member == value) return;
    changes_.push_back({field, std::to_string(cluster_.*member), std::to_string(value)});
    cluster_.*member = value;
  }
  void set(double Cluster::*member, const char* field, double value) {
    constexpr double kSameRatio = 0.01;
    if (std::abs(cluster_.*member - value) <= kSameRatio * value) return;
    changes_.push_back({field, number_text(cluster_.*member), number_text(value)});
    cluster_.*member = value;
  }
  void set_network_fabric(NetworkFabric network) {
    if (cluster_.network == network) return;
    changes_.push_back(
        {"network", std::string(name_of(cluster_.network)), std::string(name_of(network))});
    cluster_.network = network;
  }
  // One per device is written as 0.
  void set_nics(int nics) {
    const int before = cluster_.nics_per_node > 0 ? cluster_.nics_per_node : cluster_.gpus_per_node;
    if (before != nics) set(&Cluster::nics_per_node, "nics_per_node", nics);
  }
  void set_fabric(NodeFabric fabric) {
    if (cluster_.node_fabric == fabric) return;
    changes_.push_back(
        {"node_fabric", std::string(name_of(cluster_.node_fabric)), std::string(name_of(fabric))});
    cluster_.node_fabric = fabric;
  }
  // Sets a link's bandwidth per device, one way.
  void set_rate(Link Cluster::*member, const char* field, double gb_per_s,
                const std::string& tool) {
    Link& link = cluster_.*member;
    const double before = link.bandwidth / gigabytes_per_second(1);
    constexpr double kSame = 0.01;
    if (std::abs(before - gb_per_s) <= kSame * before) return;
    changes_.push_back(
        {fmt::format("{}.bandwidth_gb_per_s", field), number_text(before), number_text(gb_per_s)});
    link.bandwidth = gigabytes_per_second(gb_per_s);
    link.provenance = Provenance::datasheet;
    link.name += fmt::format(", line rate of {}", tool);
  }

 private:
  Cluster& cluster_;
  std::vector<ClusterChange>& changes_;
};

// The hosts that facts are of.
struct HostView {
  int devices = 0;     // of a host
  int per_node = 1;    // whose devices are a node's
  int per_domain = 1;  // that one NVLink domain joins: more where a node uses a part of it
};

// A tool sees the GPUs of one host, and a rack's NVLink domain joins many.
HostView host_view(const Cluster& cluster, const ClusterFacts& facts, const std::string& file,
                   std::vector<std::string>& notes) {
  const int whole = cluster.gpus_per_node;
  if (facts.hosts_per_domain) {
    const int hosts = *facts.hosts_per_domain;
    return {facts.gpus_per_host.value_or(whole / hosts), hosts, hosts};
  }
  const bool racks = cluster.gpus_per_tray > 0;
  const int devices =
      facts.gpus_per_host.value_or(racks ? std::min(whole, cluster.gpus_per_tray) : whole);
  if (!racks || devices >= whole) {
    if (devices < whole) {
      notes.push_back(
          fmt::format("{} devices are seen, and the cluster's node has {}: taken as the whole "
                      "host. A container "
                      "or a job sees only its own",
                      devices, whole));
    }
    return {devices, 1, 1};
  }
  const int domain = cluster.domain_size();
  if (whole % devices != 0 || domain % devices != 0) {
    throw InputError(
        file, "",
        fmt::format("hosts of {} devices do not make the cluster's NVLink domain of {}", devices,
                    whole),
        "--onto a cluster whose gpus_per_node is a multiple of a host's devices");
  }
  notes.push_back(fmt::format(
      "{} devices a host (a tray){}; the NVLink domain of {} spans {} such hosts, and stays{}",
      devices, facts.gpus_per_host ? "" : ", as the cluster has", domain, domain / devices,
      domain == whole ? "" : fmt::format(", {} of its devices used", whole)));
  return {devices, whole / devices, domain / devices};
}

void set_devices(Overlay& overlay, Cluster& cluster, const ClusterFacts& facts,
                 const HostView& view) {
  if (!facts.gpus_per_host) return;
  const bool trays = view.per_node > 1 || cluster.gpus_per_tray == view.devices;
  overlay.set(&Cluster::gpus_per_node, "gpus_per_node", view.devices * view.per_node);
  overlay.set(&Cluster::gpus_per_tray, "gpus_per_tray", trays ? view.devices : 0);
  if (!trays || cluster.gpus_per_domain < cluster.gpus_per_node) {
    overlay.set(&Cluster::gpus_per_domain, "gpus_per_domain", 0);
  }
}

void set_hosts(Overlay& overlay, const ClusterFacts& facts, const HostView& view, int node_size,
               const std::string& file) {
  if (!facts.num_hosts) return;
  // Hosts of whole domains, or as many of each as a node uses.
  const int hosts = *facts.num_hosts % view.per_domain == 0 ? view.per_domain : view.per_node;
  if (*facts.num_hosts % hosts != 0) {
    throw InputError(file, "",
                     fmt::format("{} hosts do not divide into NVLink domains of {}",
                                 *facts.num_hosts, view.per_domain),
                     "name hosts of whole domains: topology.conf or topology.yaml with blocks says "
                     "which they are");
  }
  overlay.set(&Cluster::num_nodes, "num_nodes", *facts.num_hosts / hosts);
  if (view.per_node > 1 && !facts.gpus_per_host && node_size % view.per_node != 0) {
    throw InputError(file, "",
                     fmt::format("domains of {} hosts, and {} devices a domain of the cluster, do "
                                 "not divide",
                                 view.per_node, node_size),
                     "give `nvidia-smi topo -m` of a host, too");
  }
}

std::string capability_text(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

// Why the facts are of another device, or of devices that are joined otherwise; empty: they fit.
std::string why_other_machine(const Cluster& base, const ClusterFacts& facts) {
  const Device& device = only_device(base);
  if (const std::string other = other_device(facts.devices, device); !other.empty()) {
    return fmt::format("is of {}, and the cluster's device is {}", other, device.name);
  }
  const std::optional<int> mine = compute_capability(device);
  if (facts.compute_capability && mine && *facts.compute_capability != *mine) {
    return fmt::format("is of GPUs of compute capability {}, and the cluster's {} has {}",
                       capability_text(*facts.compute_capability), device.name,
                       capability_text(*mine));
  }
  const bool islands = facts.gpus_per_island.value_or(0) > 0;
  if (!facts.node_fabric || *facts.node_fabric == base.node_fabric || islands) return "";
  if (*facts.node_fabric == NodeFabric::pcie) {
    return "shows no NVLink between GPUs, and the cluster's are joined by it: links are down "
           "(fabric "
           "manager, `nvidia-smi nvlink -s`), or a virtual machine hides them";
  }
  return fmt::format("shows NVLink between all GPUs, and the cluster's {} are joined by {}",
                     device.name, name_of(base.node_fabric));
}

void set_nics(Overlay& overlay, Cluster& cluster, const ClusterFacts& facts, const HostView& view,
              std::vector<std::string>& notes) {
  const std::optional<int> nics = facts.nics_per_host ? facts.nics_per_host : facts.ports_listed;
  if (facts.nics_per_host && facts.ports_listed && *facts.nics_per_host != *facts.ports_listed) {
    notes.push_back(
        fmt::format("{} ports are listed, and {} NICs stand beside GPUs: these are counted",
                    *facts.ports_listed, *facts.nics_per_host));
  }
  if (nics) overlay.set_nics(*nics * view.per_node);
  if (!facts.nic_gb_per_s) return;
  const int of_node = cluster.nics_per_node > 0 ? cluster.nics_per_node : cluster.gpus_per_node;
  overlay.set_rate(&Cluster::inter_node, "inter_node",
                   *facts.nic_gb_per_s * of_node / cluster.gpus_per_node, facts.tool);
}

// A leaf joins domains where all of their hosts hang on it.
void set_switches(Overlay& overlay, const ClusterFacts& facts, const HostView& view) {
  if (facts.network) overlay.set_network_fabric(*facts.network);
  if (facts.hosts_per_leaf) {
    overlay.set(&Cluster::nodes_per_leaf, "nodes_per_leaf",
                std::max(1, *facts.hosts_per_leaf / view.per_domain));
  }
  if (facts.hosts_per_pod) {
    overlay.set(&Cluster::nodes_per_pod, "nodes_per_pod",
                std::max(1, *facts.hosts_per_pod / view.per_domain));
  }
  if (facts.spine_oversubscription) {
    overlay.set(&Cluster::spine_oversubscription, "spine_oversubscription",
                *facts.spine_oversubscription);
  }
  if (facts.core_oversubscription) {
    overlay.set(&Cluster::core_oversubscription, "core_oversubscription",
                *facts.core_oversubscription);
  }
}

void set_islands(Overlay& overlay, const Cluster& cluster, const ClusterFacts& facts,
                 const std::string& file) {
  if (!facts.gpus_per_island) return;
  if (*facts.gpus_per_island > 0 && cluster.gpus_per_island == 0) {
    throw InputError(
        file, "",
        fmt::format("has islands of {} devices, which the cluster has not", *facts.gpus_per_island),
        "--onto h100-pcie-pairs, or another cluster with islands");
  }
  overlay.set(&Cluster::gpus_per_island, "gpus_per_island", *facts.gpus_per_island);
}

// NVLinks join the devices of a node, or those of an island.
void set_nvlinks(Overlay& overlay, const Cluster& cluster, const ClusterFacts& facts) {
  if (!facts.nvlink_gb_per_s) return;
  const bool islands = cluster.gpus_per_island > 0;
  overlay.set_rate(islands ? &Cluster::island : &Cluster::intra_node,
                   islands ? "island" : "intra_node", *facts.nvlink_gb_per_s, facts.tool);
}

}  // namespace

std::string nics_apart_note(int nics) {
  return fmt::format("{} NICs hang on no GPU's PCIe switch: of management or storage, not counted",
                     nics);
}

ClusterFacts merged(const std::vector<ClusterFacts>& all) {
  ClusterFacts sum;
  std::string from[15];
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
    take(sum.ports_listed, from[9], f.ports_listed, f.tool, "ports");
    take(sum.network, from[10], f.network, f.tool, "a network");
    take(sum.spine_oversubscription, from[11], f.spine_oversubscription, f.tool,
         "an oversubscription");
    take(sum.core_oversubscription, from[12], f.core_oversubscription, f.tool,
         "an oversubscription of the core");
    take(sum.compute_capability, from[13], f.compute_capability, f.tool, "a compute capability");
    take(sum.nvlink_gb_per_s, from[14], f.nvlink_gb_per_s, f.tool, "GB/s of NVLink");
    sum.devices.insert(sum.devices.end(), f.devices.begin(), f.devices.end());
    append_to_list(sum.tool, ", ", f.tool);
    sum.notes.insert(sum.notes.end(), f.notes.begin(), f.notes.end());
  }
  return sum;
}

OverlaidCluster overlaid(Cluster base, const ClusterFacts& facts, const std::string& file,
                         bool forced) {
  OverlaidCluster result;
  if (const std::string why = why_other_machine(base, facts); !why.empty()) {
    if (!forced) {
      throw InputError(
          file, "", why,
          "--onto names a cluster of the same device and links; --force lays the sizes "
          "over it all the same");
    }
    result.notes.push_back(fmt::format("CAUTION, forced: {} {}", file, why));
  }
  result.cluster = std::move(base);
  Cluster& c = result.cluster;
  const HostView view = host_view(c, facts, file, result.notes);
  Overlay overlay(c, result.changes);
  const int node_size = c.gpus_per_node;
  set_devices(overlay, c, facts, view);
  set_hosts(overlay, facts, view, node_size, file);
  if (facts.node_fabric) overlay.set_fabric(*facts.node_fabric);
  set_islands(overlay, c, facts, file);
  set_nvlinks(overlay, c, facts);
  set_nics(overlay, c, facts, view, result.notes);
  set_switches(overlay, facts, view);
  return result;
}

}  // namespace meshwright::interop
