// SPDX-License-Identifier: Apache-2.0
// What a tool or a scheduler says about a machine: `nvidia-smi topo -m`, NCCL's topology XML,
// Slurm's topology.conf and topology.yaml, `scontrol show node`, topograph's JSON. Which of them a
// text is follows from the text.
#pragma once

#include <string>
#include <string_view>

#include "interop/read_cluster/cluster_facts.h"

namespace meshwright::interop {

// Throws InputError: none of them, or as the format's own reader says, with line and column.
ClusterFacts read_cluster_facts(std::string_view text, const std::string& file);

// One format each, for tests.
ClusterFacts read_nvidia_smi_topo(std::string_view text, const std::string& file);
ClusterFacts read_nccl_topology(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_conf(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_yaml(std::string_view text, const std::string& file);
ClusterFacts read_slurm_nodes(std::string_view text, const std::string& file);
ClusterFacts read_topograph(std::string_view text, const std::string& file);

}  // namespace meshwright::interop
