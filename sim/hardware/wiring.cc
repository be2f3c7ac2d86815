// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/wiring.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwright {
namespace {

// A link's latency is one step, device to device: two wires of a node's switch, or the wires of two
// NICs.
Seconds half(Seconds step) { return step / 2.0; }

class Builder {
 public:
  explicit Builder(const Cluster& cluster) : c_(cluster) {}

  Wiring build() {
    for (int i = 0; i < c_.num_gpus(); ++i) {
      add_part(PartKind::device, fmt::format("device{}", i), i / c_.gpus_per_node);
    }
    w_.devices.resize(static_cast<std::size_t>(c_.num_gpus()));
    if (c_.num_nodes > 1) add_network();
    for (int node = 0; node < c_.num_nodes; ++node) add_node(node);
    w_.uplink.resize(w_.parts.size(), -1);
    return std::move(w_);
  }

 private:
  int add_part(PartKind kind, std::string name, int node) {
    w_.parts.push_back({kind, std::move(name), node});
    return static_cast<int>(w_.parts.size()) - 1;
  }
  int add_wire(WireKind kind, int from, int to, BytesPerSecond bandwidth, double fraction,
               Seconds latency) {
    w_.wires.push_back({kind, from, to, bandwidth, bandwidth * fraction, latency});
    return static_cast<int>(w_.wires.size()) - 1;
  }
  void add_uplink(WireKind kind, int from, int to, BytesPerSecond bandwidth, Seconds latency) {
    w_.uplink.resize(std::max(w_.uplink.size(), static_cast<std::size_t>(from) + 1), -1);
    w_.uplink[static_cast<std::size_t>(from)] =
        add_wire(kind, from, to, bandwidth, c_.inter_node.bandwidth_fraction, latency);
  }

  // Nodes below one switch of a level whose blocks have `size` nodes.
  [[nodiscard]] int nodes_below(int block, int size) const {
    return std::min(size, c_.num_nodes - block * size);
  }

  // Leaves: one a block and rail, or one a block; spines: one set a pod; core: where pods differ.
  void add_network() {
    const int pods = c_.num_pods(), blocks = c_.num_leaf_blocks(), rails = c_.num_rails();
    const bool by_rail = c_.network == NetworkFabric::rail_optimised;
    std::vector<int> spines;
    for (int pod = 0; pod < pods; ++pod) {
      spines.push_back(add_part(PartKind::spine, fmt::format("spine{}", pod), -1));
    }
    const int leaves_a_block = by_rail ? rails : 1;
    for (int block = 0; block < blocks; ++block) {
      const int pod = c_.nodes_per_pod == 0 ? 0 : block * c_.nodes_per_leaf / c_.nodes_per_pod;
      const BytesPerSecond below =
          c_.rail_bandwidth() * (by_rail ? 1 : rails) * nodes_below(block, c_.nodes_per_leaf);
      for (int i = 0; i < leaves_a_block; ++i) {
        const int leaf =
            add_part(PartKind::leaf, fmt::format("leaf{}", block * leaves_a_block + i), -1);
        add_uplink(WireKind::leaf_up, leaf, spines[static_cast<std::size_t>(pod)],
                   below / std::max(1.0, c_.spine_oversubscription), {});
        leaves_.push_back(leaf);
      }
    }
    if (pods > 1) add_core(spines);
  }

  void add_core(const std::vector<int>& spines) {
    const int core = add_part(PartKind::core, "core", -1);
    const double narrowed =
        std::max(1.0, c_.spine_oversubscription) * std::max(1.0, c_.core_oversubscription);
    for (std::size_t pod = 0; pod < spines.size(); ++pod) {
      const BytesPerSecond below = c_.inter_node.bandwidth * c_.gpus_per_node *
                                   nodes_below(static_cast<int>(pod), c_.nodes_per_pod);
      add_uplink(WireKind::spine_up, spines[pod], core, below / narrowed, {});
    }
  }

  void add_node(int node) {
    const int hub = add_part(PartKind::node_switch, fmt::format("node{}", node), node);
    for (int i = 0; i < c_.gpus_per_node; ++i) {
      const int device = node * c_.gpus_per_node + i;
      wires(device).node = add_wire(WireKind::node, device, hub, c_.intra_node.bandwidth,
                                    c_.intra_node.bandwidth_fraction, half(c_.intra_node.latency));
    }
    if (c_.gpus_per_island > 1) add_islands(node);
    for (int rail = 0; c_.num_nodes > 1 && rail < c_.num_rails(); ++rail) add_rail(node, rail, hub);
  }

  void add_islands(int node) {
    const int size = c_.gpus_per_island, first = node * c_.gpus_per_node;
    for (int start = 0; start < c_.gpus_per_node; start += size) {
      const int members = std::min(size, c_.gpus_per_node - start);
      if (members == 2) {
        const int bridge =
            add_wire(WireKind::island, first + start, first + start + 1, c_.island.bandwidth,
                     c_.island.bandwidth_fraction, c_.island.latency);
        wires(first + start).island = wires(first + start + 1).island = bridge;
        continue;
      }
      if (members < 2) continue;
      const int island =
          add_part(PartKind::island, fmt::format("node{}.island{}", node, start / size), node);
      for (int i = 0; i < members; ++i) {
        wires(first + start + i).island =
            add_wire(WireKind::island, first + start + i, island, c_.island.bandwidth,
                     c_.island.bandwidth_fraction, half(c_.island.latency));
      }
    }
  }

  // The rail's NIC hangs on a PCIe switch of its own beside the node's switch; on the node's root
  // where that is PCIe or memory.
  void add_rail(int node, int rail, int hub) {
    const int nic = add_part(PartKind::nic, fmt::format("node{}.nic{}", node, rail), node);
    w_.rail_nic.push_back(nic);
    const bool by_rail = c_.network == NetworkFabric::rail_optimised;
    const int leaf =
        by_rail ? node / c_.nodes_per_leaf * c_.num_rails() + rail : node / c_.nodes_per_leaf;
    add_uplink(WireKind::nic, nic, leaves_[static_cast<std::size_t>(leaf)], c_.rail_bandwidth(),
               half(c_.inter_node.latency));
    const double fraction = c_.inter_node.bandwidth_fraction;
    if (!c_.nics_beside_fabric()) {
      add_wire(WireKind::pcie, nic, hub, c_.rail_bandwidth(), fraction, {});
      return;
    }
    const int bridge =
        add_part(PartKind::pcie_switch, fmt::format("node{}.pcie{}", node, rail), node);
    add_wire(WireKind::pcie, bridge, nic, c_.rail_bandwidth(), fraction, {});
    // A device reaches its NIC at most at the rate of its own PCIe link, if that is stated (a
    // measured rate).
    const BytesPerSecond host =
        only_device(c_).host_link.value() > 0.0 ? only_device(c_).host_link : c_.rail_bandwidth();
    for (int i = 0; i < c_.gpus_per_node; ++i) {
      if (c_.rail_of(i) != rail) continue;
      const int device = node * c_.gpus_per_node + i;
      wires(device).pcie = add_wire(WireKind::pcie, device, bridge, host, 1.0, {});
    }
  }

  DeviceWires& wires(int device) { return w_.devices[static_cast<std::size_t>(device)]; }

  const Cluster& c_;
  Wiring w_;
  std::vector<int> leaves_;
};

}  // namespace

Wiring wiring_of(const Cluster& cluster) { return Builder(cluster).build(); }

}  // namespace meshwright
