// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/read_cluster.h"

#include <algorithm>
#include <string>

#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostText = 16U << 20U;

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

struct ClusterFormat {
  std::string_view tool;  // in what is said of a cluster
  std::string_view name;  // in help and errors
  bool (*is)(std::string_view text);
  ClusterFacts (*read)(std::string_view text, const std::string& file);
};

// Formats in the order in which a text is tested. A matching text is read; a document has one
// format only.
constexpr ClusterFormat kClusterFormats[] = {
    {"NCCL topology", "NCCL's topology XML (NCCL_TOPO_DUMP_FILE)",
     [](std::string_view text) { return contains(text, "<system") && contains(text, "<cpu"); },
     read_nccl_topology},
    {"lstopo", "hwloc's lstopo --of xml",
     [](std::string_view text) { return contains(text, "<topology") && contains(text, "<object"); },
     read_lstopo},
    {"neuron-ls", "neuron-ls -j",
     [](std::string_view text) { return contains(text, "\"neuron_device\""); }, read_neuron_ls},
    {"topograph", "topograph's JSON",
     [](std::string_view text) { return contains(text, "\"instances\""); }, read_topograph},
    {"kubectl get nodes", "kubectl get nodes -o json",
     [](std::string_view text) { return contains(text, "\"allocatable\""); },
     read_kubernetes_nodes},
    {"sinfo", "sinfo with a column GRES", has_sinfo, read_sinfo},
    {"scontrol show node", "scontrol show node",
     [](std::string_view text) { return contains(text, "NodeName="); }, read_slurm_nodes},
    {"topology.conf", "Slurm's topology.conf or scontrol show topology",
     [](std::string_view text) {
       return contains_any_case(text, "SwitchName=") || contains_any_case(text, "BlockName=");
     },
     read_slurm_topology_conf},
    {"topology.yaml", "Slurm's topology.yaml",
     [](std::string_view text) {
       return contains(text, "topology:") && (contains(text, "tree:") || contains(text, "block:"));
     },
     read_slurm_topology_yaml},
    {"nvidia-smi topo -m", "nvidia-smi topo -m", has_nvidia_smi_topo, read_nvidia_smi_topo},
    {"rocm-smi --showtopo", "rocm-smi --showtopo or amd-smi topology", has_amd_topology,
     read_amd_topology},
    {"ibnetdiscover", "ibnetdiscover", has_ibnetdiscover, read_ibnetdiscover},
    {"ibstat", "ibstat, ibstatus, ibv_devinfo or ibdev2netdev", has_rdma_ports, read_rdma_ports},
    {"nvidia-smi nvlink -s", "nvidia-smi nvlink -s", has_nvlink_status, read_nvlink_status},
    {"nvidia-smi", "nvidia-smi (its table, -L, -q) or rocm-smi --showproductname",
     [](std::string_view text) { return !gpu_names_in(text).empty(); }, read_nvidia_smi},
};

// A format that is a whole file; others stand beside each other in a log.
bool is_document(const ClusterFormat& format) {
  constexpr decltype(format.read) kDocuments[] = {read_nccl_topology,    read_lstopo,
                                                  read_neuron_ls,        read_topograph,
                                                  read_kubernetes_nodes, read_slurm_topology_yaml};
  return std::ranges::find(kDocuments, format.read) != std::end(kDocuments);
}

}  // namespace

std::string cluster_formats_text() {
  std::string text;
  for (const ClusterFormat& format : kClusterFormats) append_to_list(text, ", ", format.name);
  return text;
}

ClusterFacts read_cluster_facts(std::string_view typed, const std::string& file) {
  const std::string_view text = without_mark(typed);
  if (text.size() > kMostText) throw InputError(file, "", "is larger than 16 MiB");
  std::vector<ClusterFacts> all;
  for (const ClusterFormat& format : kClusterFormats) {
    if (!format.is(text)) continue;
    all.push_back(format.read(text, file));
    all.back().tool = format.tool;
    // The matrix beside has all GPUs; lists beside it may be cut.
    const bool is_list = format.read == read_nvidia_smi || format.read == read_nvlink_status;
    if (is_list && all.size() > 1) all.back().gpus_per_host.reset();
    if (is_document(format)) break;
  }
  if (!all.empty()) return merged(all);
  throw InputError(file, "", "says nothing about a machine that is known here",
                   "read are " + cluster_formats_text());
}

}  // namespace meshwright::interop
