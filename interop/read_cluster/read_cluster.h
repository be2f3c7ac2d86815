// SPDX-License-Identifier: Apache-2.0
// What a tool or a scheduler says about a machine. A table in read_cluster.cc has the formats;
// which of them a text is follows from the text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interop/read_cluster/cluster_facts.h"

namespace meshwright::interop {

// The formats' names, for people.
std::string cluster_formats_text();

// Throws InputError: none of them, or as the format's own reader says, with line and column.
ClusterFacts read_cluster_facts(std::string_view text, const std::string& file);

// One format each, without the name of its tool; for tests.
ClusterFacts read_nvidia_smi_topo(std::string_view text, const std::string& file);
ClusterFacts read_amd_topology(std::string_view text, const std::string& file);
ClusterFacts read_nccl_topology(std::string_view text, const std::string& file);
ClusterFacts read_lstopo(std::string_view text, const std::string& file);
ClusterFacts read_neuron_ls(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_conf(std::string_view text, const std::string& file);
ClusterFacts read_slurm_topology_yaml(std::string_view text, const std::string& file);
ClusterFacts read_slurm_nodes(std::string_view text, const std::string& file);
ClusterFacts read_sinfo(std::string_view text, const std::string& file);
ClusterFacts read_kubernetes_nodes(std::string_view text, const std::string& file);
ClusterFacts read_topograph(std::string_view text, const std::string& file);
ClusterFacts read_rdma_ports(std::string_view text, const std::string& file);
ClusterFacts read_ibnetdiscover(std::string_view text, const std::string& file);
ClusterFacts read_nvidia_smi(std::string_view text, const std::string& file);
ClusterFacts read_nvlink_status(std::string_view text, const std::string& file);

// Tells whether a text holds one, anywhere.
bool has_nvidia_smi_topo(std::string_view text);
bool has_amd_topology(std::string_view text);
bool has_nvlink_status(std::string_view text);
bool has_sinfo(std::string_view text);
bool has_rdma_ports(std::string_view text);
bool has_ibnetdiscover(std::string_view text);

// Names of GPUs that nvidia-smi or rocm-smi wrote into a text, each once.
std::vector<std::string> gpu_names_in(std::string_view text);

}  // namespace meshwright::interop
