// SPDX-License-Identifier: Apache-2.0
// What a tool or a scheduler says about a machine. A table in read_cluster.cc has the formats;
// which of them a text is follows from the text.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_cluster/cluster_facts.h"

namespace meshwright::interop {

// The formats' names, for people.
std::string cluster_formats_text();

// Throws InputError: none of them, or as the format's own reader says, with line and column.
ClusterFacts read_cluster_facts(std::string_view text, const std::string& file);

// One format each, without the name of its tool; for tests.
ClusterFacts read_nvidia_smi_topo(std::string_view text, const std::string& file);
ClusterFacts read_nccl_topology(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_conf(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_yaml(std::string_view text, const std::string& file);
ClusterFacts read_slurm_nodes(std::string_view text, const std::string& file);
ClusterFacts read_topograph(std::string_view text, const std::string& file);

}  // namespace meshwright::interop
