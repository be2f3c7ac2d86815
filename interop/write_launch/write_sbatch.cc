// SPDX-License-Identifier: Apache-2.0
// A job of Slurm round any launch file: nodes, ranks a node, and what the layout asks of the
// topology (`--switches`: leaves of a tree; `--segment`: nodes that a block keeps together).
#include <fmt/format.h>

#include <algorithm>

#include "interop/write_launch/hosts.h"
#include "interop/write_launch/launch.h"
#include "sim/layout/layout.h"
#include "sim/layout/short_name.h"

namespace meshwright::interop {
namespace {

// Hosts of a group of neighbours that should not be torn apart: tensor, context and expert ranks.
int hosts_together(const Layout& l, const Hosts& hosts) {
  const int dense = l.tensor_parallel_size * l.context_parallel_size;
  const int experts = expert_tensor_size(l) * l.expert_parallel_size;
  const int ranks = std::max(dense, experts);
  return std::min({hosts.per_domain, hosts.count, std::max(1, ranks / hosts.devices)});
}

// Returns the segment size for Slurm: it divides the job's nodes (topology.html) and fits in a
// domain. It is the smallest that keeps groups of `together` nodes whole, or else is not smaller
// than a group; 0: none.
int segment_of(int together, const Hosts& hosts) {
  int fallback = 0;
  for (int size = together; size <= std::min(hosts.per_domain, hosts.count); ++size) {
    if (hosts.count % size != 0) continue;
    if (size % together == 0) return size;
    if (fallback == 0) fallback = size;
  }
  return fallback;
}

std::string topology_hint(const Training& t, const Hosts& hosts) {
  if (hosts.per_domain > 1) {
    const int together = hosts_together(t.layout, hosts);
    const int segment = together > 1 ? segment_of(together, hosts) : 0;
    return segment > 1 ? fmt::format("#SBATCH --segment={}\n", segment) : "";
  }
  const int leaves =
      (hosts.count + t.scenario.cluster.nodes_per_leaf - 1) / t.scenario.cluster.nodes_per_leaf;
  return hosts.count > 1 ? fmt::format("#SBATCH --switches={}\n", leaves) : "";
}

}  // namespace

LaunchFile sbatch(const Training& t) {
  LaunchFile launch{.target = "Slurm",
                    .names_of = "sbatch of Slurm; --segment since 24.05",
                    .file_name = "job.sbatch",
                    .text = "",
                    .notes = {},
                    .refusal = ""};
  const Hosts hosts = hosts_of(t.scenario.cluster, t.layout);
  launch.text = fmt::format(
      "#!/bin/bash\n# {}\n# sbatch job.sbatch COMMAND ...: COMMAND starts the {} ranks of a node, "
      "such as bash megatron-lm.sh\n"
      "#SBATCH --nodes={}\n#SBATCH --ntasks-per-node=1\n#SBATCH --gpus-per-node={}\n"
      "#SBATCH --exclusive\n{}"
      "set -eu\n"
      "MASTER_ADDR=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | head -n 1)\n"
      "export MASTER_ADDR MASTER_PORT=6000 NNODES={} GPUS_PER_NODE={}\n"
      "srun --kill-on-bad-exit=1 bash -c 'NODE_RANK=$SLURM_NODEID exec \"$@\"' ranks \"$@\"\n",
      short_name(t.layout), hosts.devices, hosts.count, hosts.devices, topology_hint(t, hosts),
      hosts.count, hosts.devices);
  launch.notes.emplace_back(
      "One task a node: the launcher (torchrun, accelerate, deepspeed) starts its ranks. "
      "Partition, "
      "account and time are yours to add.");
  launch.notes.emplace_back(
      "--switches and --segment hold where Slurm knows the topology (topology.conf, "
      "topology.yaml); "
      "leave them out where it does not.");
  return launch;
}

}  // namespace meshwright::interop
