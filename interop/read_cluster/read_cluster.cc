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

}  // namespace

ClusterFacts read_cluster_facts(std::string_view typed, const std::string& file) {
  const std::string_view text = without_mark(typed);
  if (text.size() > kMostText) throw InputError(file, "", "is larger than 16 MiB");
  if (contains(text, "<system") && contains(text, "<cpu")) return read_nccl_topology(text, file);
  if (contains(text, "\"instances\"")) return read_topograph(text, file);
  if (contains(text, "NodeName=")) return read_slurm_nodes(text, file);
  if (contains_any_case(text, "SwitchName=") || contains_any_case(text, "BlockName=")) {
    return read_slurm_topology_conf(text, file);
  }
  if (contains(text, "topology:") && (contains(text, "tree:") || contains(text, "block:"))) {
    return read_slurm_topology_yaml(text, file);
  }
  if (contains(text, "GPU0")) return read_nvidia_smi_topo(text, file);
  throw InputError(file, "", "says nothing about a machine that is known here",
                   "read are nvidia-smi topo -m, NCCL's topology XML (NCCL_TOPO_DUMP_FILE), "
                   "Slurm's topology.conf and topology.yaml, scontrol show node, topograph's JSON");
}

}  // namespace meshwright::interop
