// SPDX-License-Identifier: Apache-2.0
// A cluster's file to start from: every field with a comment that says what it means, its unit and
// where to find it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace meshwright::app {

struct ClusterStart {
  std::string device;  // a file, or a name of configs/hardware
  std::optional<int> gpus_per_node, num_nodes, nics;
  std::optional<double> nic_gbit;  // line rate of one NIC, Gbit/s
  std::string fabric{};            // a name of fabric_names(); empty: that of the shipped cluster
  std::optional<int> leaf_nodes;   // nodes below one leaf switch
  std::optional<int> rails;        // 1: all NICs of a node on one leaf; else one leaf per NIC
  double oversubscription = 1.0;   // downlinks over uplinks of a leaf switch
};

// Networks between nodes whose shares and latencies are known from a shipped cluster.
std::vector<std::string> fabric_names();

// The file's text: JSON with `//` comments, which load_cluster() reads. The node's links are those
// of the shipped cluster with this device; a device without one gets PCIe at its host link's rate.
// Bandwidth between nodes of a device [GB/s] = nic_gbit / 8 x nics / gpus_per_node. Throws
// InputError: no such device; rails that NICs do not make; an oversubscription that no traffic
// passes.
std::string cluster_template(const ClusterStart& start);

}  // namespace meshwright::app
