// SPDX-License-Identifier: Apache-2.0
// Devices, the links between them, and how many of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/hardware/device.h"
#include "sim/hardware/framework.h"

namespace meshwright {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
inline constexpr std::array kCollectiveNames{EnumName{Collective::all_reduce, "all_reduce"},
                                             EnumName{Collective::all_gather, "all_gather"},
                                             EnumName{Collective::reduce_scatter, "reduce_scatter"},
                                             EnumName{Collective::all_to_all, "all_to_all"},
                                             EnumName{Collective::broadcast, "broadcast"},
                                             EnumName{Collective::send_recv, "send_recv"}};
constexpr std::string_view name_of(Collective v) { return name_in(kCollectiveNames, v); }

// Kind of link that limits a group's traffic.
enum class Tier { self, intra_node, inter_node };
inline constexpr std::array kTierNames{EnumName{Tier::self, "self"},
                                       EnumName{Tier::intra_node, "intra_node"},
                                       EnumName{Tier::inter_node, "inter_node"}};
constexpr std::string_view name_of(Tier v) { return name_in(kTierNames, v); }

struct CollectivePoint {
  Bytes payload;  // size of the whole array, as nccl-tests counts it
  Seconds time;   // median of the slowest rank
  double relative_spread = 0.0;
  bool operator==(const CollectivePoint&) const = default;
};

// One measured sweep: a collective over group_size ranks of one tier. Points sorted by payload.
struct CollectiveCurve {
  Collective collective = Collective::all_reduce;
  int group_size = 2;  // number of ranks
  std::vector<CollectivePoint> points;
  // Placement of the ranks, as in Placement. 0: not stated (older files: nodes are filled one after
  // the other, and one group alone runs across nodes).
  int ranks_per_node = 0;
  int groups_per_node = 0;  // groups of a node that run at the same time
  bool operator==(const CollectiveCurve&) const = default;
};

struct Link {
  std::string name;                 // "NVLink 4", "InfiniBand NDR", "shared memory"
  BytesPerSecond bandwidth;         // per device and direction; inter-node: NIC share of one device
  double bandwidth_fraction = 0.8;  // share that large collectives in large groups reach
  double ring_end_cost =
      0.0;  // bytes take 1 + ring_end_cost / group as long (all-reduce: half of it)
  double sharp_bandwidth_fraction =
      0.0;                  // all-reduce busbw / bandwidth with in-switch reduction; 0: none
  int sharp_min_group = 0;  // smallest group that uses it
  // Share of bandwidth * bandwidth_fraction that DeepEP reaches on this link; 0: not measured here.
  double deepep_fraction = 0.0;
  Seconds base_latency;  // once a call: launch and protocol set-up
  Seconds latency;       // one step of a ring or tree, including the software above it
  // Medium messages have not filled the pipeline: up to ramp_latency * log2(group) more, half of it
  // at ramp_bytes * log2(group).
  Seconds ramp_latency;
  Bytes ramp_bytes;
  Provenance provenance = Provenance::datasheet;
  double relative_spread = kDatasheetRateSpread;
  std::vector<CollectiveCurve> curves;  // measured; override the link model near themselves
  bool operator==(const Link&) const = default;
};

// Fabric that joins the devices of a node, and the link that leads to the NICs.
enum class NodeFabric {
  nvswitch,      // a switch joins all devices; NICs hang on PCIe switches beside it
  mesh,          // a link between each two devices (xGMI); NICs likewise
  pcie,          // the PCIe root joins devices and NICs
  shared_memory  // the cores of a machine
};
inline constexpr std::array kNodeFabricNames{
    EnumName{NodeFabric::nvswitch, "nvswitch"}, EnumName{NodeFabric::mesh, "mesh"},
    EnumName{NodeFabric::pcie, "pcie"}, EnumName{NodeFabric::shared_memory, "shared_memory"}};
constexpr std::string_view name_of(NodeFabric v) { return name_in(kNodeFabricNames, v); }

// Connection of NICs to leaf switches: one leaf for the same NIC of every node (NVIDIA's rails), or
// one for all NICs of a node.
enum class NetworkFabric { rail_optimised, fat_tree };
inline constexpr std::array kNetworkFabricNames{
    EnumName{NetworkFabric::rail_optimised, "rail_optimised"},
    EnumName{NetworkFabric::fat_tree, "fat_tree"}};
constexpr std::string_view name_of(NetworkFabric v) { return name_in(kNetworkFabricNames, v); }

// Nodes of a job on the leaf switches: neighbours in the order of ranks, or any free ones, as a
// scheduler without a topology plugin hands them out.
enum class NodeOrder { packed, random };
inline constexpr std::array kNodeOrderNames{EnumName{NodeOrder::packed, "packed"},
                                            EnumName{NodeOrder::random, "random"}};
constexpr std::string_view name_of(NodeOrder v) { return name_in(kNodeOrderNames, v); }

// Correction factors fitted on runs of this machine, in addition to the numbers of its parts and of
// the framework of these runs. They do not count under another framework.
struct MachineFit {
  std::string framework;  // its name; empty: nothing was fitted
  std::string source;
  double gemm_time_factor = 1.0, kernel_time_factor = 1.0, collective_time_factor = 1.0;
  Seconds micro_batch_overhead;
  // Residual after the fit: one standard deviation, relative to the step.
  double relative_spread = 0.0;
  // Calibration runs of the fit, if relative_spread is that of the next step. 0: a shipped fit,
  // whose relative_spread is that of the runs on which it was fitted.
  int learnt_runs = 0;
  std::vector<std::string> sets;   // data sets of the fit
  std::vector<std::string> terms;  // names of the fitted factors above
  bool operator==(const MachineFit&) const = default;
};

// Factor on the time that the nodes' hosts take to launch a kernel of a layer with experts,
// relative to the framework's own fit. It was fitted on runs under one framework. It is no fit of
// the whole machine, so intervals do not become narrower.
struct HostPace {
  std::string framework;  // its name; empty: nothing is known
  std::string source;
  double expert_launch_time_factor = 1.0;  // above 1: slower
  bool operator==(const HostPace&) const = default;
};

struct Cluster {
  std::string name;
  std::string source;
  Device device;
  int gpus_per_node = 8;
  int num_nodes = 1;
  Link intra_node;
  Link inter_node;
  // Devices of a compute tray, which is a host, where a node is a rack of them; 0: a node is a
  // host.
  int gpus_per_tray = 0;
  // GPUs of the NVLink domain, if a job uses only gpus_per_node of them; 0: it uses all.
  int gpus_per_domain = 0;
  // Neighbours joined by a faster link than the node's own: 2 for an NVLink bridge. 0: none.
  int gpus_per_island = 0;
  Link island;
  NodeFabric node_fabric = NodeFabric::nvswitch;
  NetworkFabric network = NetworkFabric::rail_optimised;
  NodeOrder node_order = NodeOrder::packed;
  int nics_per_node = 0;    // 0: one per device
  int nodes_per_leaf = 32;  // nodes below one leaf switch (of each rail)
  int nodes_per_pod = 0;    // nodes below one set of spine switches; 0: one set for all (2 levels)
  double spine_oversubscription = 1.0;       // leaf ports down / up
  double core_oversubscription = 1.0;        // spine ports down / up; counts between pods
  std::optional<double> price_per_gpu_hour;  // in the currency of the price list
  Framework framework;                       // training software and its costs
  // Nobody said that this framework runs here: the file takes it as the likeliest.
  bool framework_assumed = false;
  MachineFit fit;
  HostPace host;
  FeatureLimits limits;  // features that its links do not support
  // Features that run on these devices only with patches, or were slower in every measurement. A
  // search does not use them unless asked, and then reports it.
  FeatureLimits unproven;

  [[nodiscard]] bool fit_holds() const {
    return !fit.framework.empty() && fit.framework == framework.name;
  }
  // The framework's and the fit's, where it holds.
  [[nodiscard]] double gemm_time_factor() const {
    return framework.gemm_time_factor * (fit_holds() ? fit.gemm_time_factor : 1.0);
  }
  [[nodiscard]] double kernel_time_factor() const {
    return framework.kernel_time_factor * (fit_holds() ? fit.kernel_time_factor : 1.0);
  }
  [[nodiscard]] double collective_time_factor() const {
    return framework.collective_time_factor * (fit_holds() ? fit.collective_time_factor : 1.0);
  }
  [[nodiscard]] Seconds micro_batch_overhead() const {
    return framework.micro_batch_overhead + (fit_holds() ? fit.micro_batch_overhead : seconds(0));
  }
  [[nodiscard]] double relative_spread() const {
    return fit_holds() ? fit.relative_spread : framework.relative_spread;
  }

  [[nodiscard]] int num_gpus() const { return gpus_per_node * num_nodes; }
  // Devices of a whole node, used or not.
  [[nodiscard]] int domain_size() const { return std::max(gpus_per_node, gpus_per_domain); }
  // Neighbours that NVLink, or what a node has of its kind, joins: an island, a node, or one device
  // alone where only PCIe joins those of a node.
  [[nodiscard]] int fast_domain() const {
    if (gpus_per_island > 0) return gpus_per_island;
    return node_fabric == NodeFabric::pcie ? 1 : gpus_per_node;
  }
  // A device sends to its NIC over PCIe, and to other devices over links of its own.
  [[nodiscard]] bool nics_beside_fabric() const {
    return node_fabric == NodeFabric::nvswitch || node_fabric == NodeFabric::mesh;
  }
  // Bandwidth of a device's links to the other members of a group. A mesh has one link to each.
  [[nodiscard]] BytesPerSecond node_bandwidth(int members) const {
    if (node_fabric != NodeFabric::mesh || members >= gpus_per_node) return intra_node.bandwidth;
    return intra_node.bandwidth * std::max(1, members - 1) / (gpus_per_node - 1);
  }
  [[nodiscard]] UnsupportedBits lacks() const {
    return framework.limits.bits() | device.limits.bits() | limits.bits();
  }
  // NICs that devices share, or sets of NICs that one device has to itself: each is one rail.
  [[nodiscard]] int num_rails() const {
    return nics_per_node == 0 ? gpus_per_node : std::min(nics_per_node, gpus_per_node);
  }
  [[nodiscard]] BytesPerSecond rail_bandwidth() const {
    return inter_node.bandwidth * gpus_per_node / num_rails();
  }
  [[nodiscard]] int rail_of(int device_in_node) const {
    return device_in_node * num_rails() / gpus_per_node;
  }
  [[nodiscard]] int num_leaf_blocks() const {
    return (num_nodes + nodes_per_leaf - 1) / nodes_per_leaf;
  }
  [[nodiscard]] int num_pods() const {
    return nodes_per_pod == 0 ? 1 : (num_nodes + nodes_per_pod - 1) / nodes_per_pod;
  }
  bool operator==(const Cluster&) const = default;
};

// The type of all of a cluster's devices. Whatever calls it takes for granted that there is but
// one; a pool of several types has to look at each of these places.
inline const Device& only_device(const Cluster& cluster) { return cluster.device; }
// To be filled by what reads files, calibrates or asks what would be if.
inline Device& only_device(Cluster& cluster) { return cluster.device; }

// Default layout on this cluster. It is the framework's, but tokens go to experts by alltoall if
// the framework's library does not run here (as Megatron Bridge,
// training/flex_dispatcher_backend.py).
Layout default_layout(const Cluster& cluster);

// A layout that says nothing of its dispatcher: alltoall in place of flex where its expert ranks
// lie in several NVLink domains, between which the library does not run or is unproven.
Layout with_proven_dispatcher(Layout layout, const Cluster& cluster);

// The same node type with `gpus` devices, on the nodes that node_fill (node_count.h) says. Throws
// InputError where they make up none.
Cluster scaled_to(Cluster cluster, int gpus);

}  // namespace meshwright
