// SPDX-License-Identifier: Apache-2.0
// A cluster's file to start from: every field with a comment that says what it means, its unit and
// where to find it.
#pragma once

#include <optional>
#include <string>

namespace meshwright::app {

struct ClusterStart {
  std::string device;  // a file, or a name of configs/hardware
  std::optional<int> gpus_per_node, num_nodes, nics;
  std::optional<double> nic_gbit;  // line rate of one NIC, Gbit/s
};

// The file's text: JSON with `//` comments, which load_cluster() reads. The node's links are those
// of the shipped cluster with this device; a device without one gets PCIe at its host link's rate.
// Bandwidth between nodes of a device [GB/s] = nic_gbit / 8 x nics / gpus_per_node. Throws
// InputError: no such device.
std::string cluster_template(const ClusterStart& start);

}  // namespace meshwright::app
