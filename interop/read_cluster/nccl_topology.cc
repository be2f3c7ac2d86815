// SPDX-License-Identifier: Apache-2.0
// NCCL's topology (NCCL_TOPO_DUMP_FILE; src/graph/xml.cc): <system> of <cpu>s with <pci> below,
// each <gpu> with <nvlink> children by count and what they lead to (tclass 0x068000: an NVSwitch,
// 0x030200: a GPU), each <net> with its speed in Mb/s. Dumps of multi-node NVLink hold all hosts of
// a domain, told apart by host_hash.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "interop/read_cluster/read_cluster.h"
#include "interop/read_cluster/simple_xml.h"
#include "sim/base/error.h"

namespace meshwright::interop {
namespace {

struct Seen {
  int gpus = 0, with_switch = 0, with_peer = 0, links = 0;
  int sm = 0;
  std::set<std::string> hosts;
  int nics = 0;
  double nic_megabits = 0.0;
  bool nics_differ = false;
};

double number_of(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || value < 0.0 || value > 1e9 ? 0.0 : value;
}

void count_gpu(const XmlElement& gpu, Seen& seen) {
  ++seen.gpus;
  seen.sm = static_cast<int>(number_of(gpu.attribute("sm")));
  bool to_switch = false;
  bool to_peer = false;
  int links = 0;
  for (const XmlElement& child : gpu.children) {
    if (child.name != "nvlink") continue;
    const std::string to = child.attribute("tclass");
    to_switch = to_switch || to == "0x068000";
    to_peer = to_peer || to.starts_with("0x0302") || to.starts_with("0x0300");
    links += static_cast<int>(number_of(child.attribute("count")));
  }
  if (to_switch) ++seen.with_switch;
  if (to_peer) ++seen.with_peer;
  seen.links = std::max(seen.links, links);
}

// Shared memory and sockets stand beside NICs with a speed of their own; those of RDMA have ports.
void count_net(const XmlElement& net, Seen& seen) {
  const double speed = number_of(net.attribute("speed"));
  constexpr double kSlowest = 40'000.0;  // below it, a management network
  if (speed < kSlowest) return;
  ++seen.nics;
  if (seen.nic_megabits > 0.0 && speed != seen.nic_megabits) seen.nics_differ = true;
  seen.nic_megabits = std::max(seen.nic_megabits, speed);
}

void walk(const XmlElement& element, Seen& seen) {
  if (element.name == "cpu") seen.hosts.insert(element.attribute("host_hash"));
  if (element.name == "gpu") count_gpu(element, seen);
  if (element.name == "net") count_net(element, seen);
  for (const XmlElement& child : element.children) walk(child, seen);
}

// NCCL's own words (src/graph/topo.h): GB/s of a link.
double gb_per_s_of_a_link(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  return sm >= 80 ? 20.0 : 0.0;
}

}  // namespace

ClusterFacts read_nccl_topology(std::string_view text, const std::string& file) {
  const XmlElement system = read_simple_xml(text, file);
  if (system.name != "system") {
    throw InputError(file, "",
                     fmt::format("begins with <{}>, a topology with <system>", system.name));
  }
  Seen seen;
  walk(system, seen);
  if (seen.gpus == 0) throw InputError(file, "", "holds no <gpu>");
  ClusterFacts facts;
  facts.tool = "NCCL topology";
  const int hosts = static_cast<int>(std::max<std::size_t>(1, seen.hosts.size()));
  if (seen.gpus % hosts != 0) {
    throw InputError(file, "", fmt::format("{} GPUs on {} hosts", seen.gpus, hosts),
                     "give a dump of a whole host or domain");
  }
  facts.gpus_per_host = seen.gpus / hosts;
  if (hosts > 1) facts.hosts_per_domain = hosts;
  if (seen.with_switch == seen.gpus) facts.node_fabric = NodeFabric::nvswitch;
  if (seen.links == 0) facts.node_fabric = NodeFabric::pcie;
  if (seen.with_peer > 0 && seen.with_switch == 0) {
    facts.notes.emplace_back(
        "NVLinks lead from GPU to GPU: `nvidia-smi topo -m` says which are "
        "joined");
  }
  if (seen.nics > 0 && seen.nics % hosts == 0) {
    facts.nics_per_host = seen.nics / hosts;
    if (!seen.nics_differ) facts.nic_gb_per_s = seen.nic_megabits / 8e3;
  }
  if (seen.nics_differ)
    facts.notes.emplace_back("NICs of several speeds: the cluster's rate is kept");
  if (seen.links > 0 && gb_per_s_of_a_link(seen.sm) > 0.0) {
    facts.notes.push_back(fmt::format(
        "{} NVLinks per GPU, which NCCL counts as {:.4g} GB/s; the rate is the cluster's",
        seen.links, seen.links * gb_per_s_of_a_link(seen.sm)));
  }
  return facts;
}

}  // namespace meshwright::interop
