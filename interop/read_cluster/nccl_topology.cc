// SPDX-License-Identifier: Apache-2.0
// NCCL's topology (NCCL_TOPO_DUMP_FILE; src/graph/xml.cc): <system> of <cpu>s with <pci> below,
// each <gpu> with <nvlink> children by count and what they lead to (tclass 0x068000: an NVSwitch,
// 0x030200: a GPU), each <net> with its speed in Mb/s. Dumps of multi-node NVLink hold all hosts of
// a domain, told apart by host_hash.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <pugixml.hpp>
#include <set>

#include "interop/read_cluster/read_cluster.h"
#include "interop/read_cluster/xml_elements.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

struct Seen {
  int gpus = 0, with_switch = 0, with_peer = 0, links = 0;
  int sm = 0;
  bool amd = false;  // RCCL's dump
  std::set<std::string> hosts;
  std::map<double, int> nics_beside, nics_apart;  // of a GPU's PCIe switch or not: by Mb/s
};

double number_of(const pugi::xml_attribute& attribute) {
  const std::string text = attribute.value();
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return end == text.c_str() || value < 0.0 || value > 1e9 ? 0.0 : value;
}

void count_gpu(const pugi::xml_node& gpu, Seen& seen) {
  ++seen.gpus;
  seen.sm = static_cast<int>(number_of(gpu.attribute("sm")));
  seen.amd = seen.amd || gpu.attribute("gcn");
  bool to_switch = false;
  bool to_peer = false;
  int links = 0;
  for (const pugi::xml_node& link : gpu.children("nvlink")) {
    const std::string_view to = link.attribute("tclass").value();
    to_switch = to_switch || to == "0x068000";
    to_peer = to_peer || to.starts_with("0x0302") || to.starts_with("0x0300");
    links += static_cast<int>(number_of(link.attribute("count")));
  }
  if (to_switch) ++seen.with_switch;
  if (to_peer) ++seen.with_peer;
  seen.links = std::max(seen.links, links);
}

// A PCIe switch above the NIC that a GPU hangs on, too.
bool is_beside_gpu(const pugi::xml_node& net) {
  for (pugi::xml_node above = net.parent(); above; above = above.parent()) {
    if (std::string_view(above.name()) != "pci") continue;
    if (above.find_node(
            [](const pugi::xml_node& n) { return n.name() == std::string_view("gpu"); }))
      return true;
  }
  return false;
}

// Shared memory and sockets stand beside NICs with a speed of their own; those of RDMA have ports.
void count_net(const pugi::xml_node& net, Seen& seen) {
  const double speed = number_of(net.attribute("speed"));
  constexpr double kSlowest = 40'000.0;  // below it, a management network
  if (speed < kSlowest) return;
  ++(is_beside_gpu(net) ? seen.nics_beside : seen.nics_apart)[speed];
}

// NICs beside GPUs count; where none is, all do.
void set_counted_nics(const Seen& seen, int hosts, ClusterFacts& facts) {
  const auto sum = [](const std::map<double, int>& nics) {
    int all = 0;
    for (const auto& [speed, count] : nics) all += count;
    return all;
  };
  const bool beside = !seen.nics_beside.empty();
  const std::map<double, int>& counted = beside ? seen.nics_beside : seen.nics_apart;
  const int nics = sum(counted);
  if (beside && !seen.nics_apart.empty()) {
    facts.notes.push_back(nics_apart_note(sum(seen.nics_apart)));
  }
  if (nics > 0 && nics % hosts == 0) {
    facts.nics_per_host = nics / hosts;
    if (counted.size() == 1) facts.nic_gb_per_s = counted.begin()->first / 8e3;
  }
  if (counted.size() > 1)
    facts.notes.emplace_back("NICs of several speeds: the cluster's rate is kept");
}

// Text and document types are none of NCCL's: they are refused, so that nothing of a file is
// silently left out.
Seen seen_in(std::string_view text, const std::string& file) {
  Seen seen;
  for_each_element(text, file, {"system", "give the file that NCCL_TOPO_DUMP_FILE names"},
                   [&seen](const pugi::xml_node& node) {
                     const std::string_view name = node.name();
                     if (name == "cpu") seen.hosts.insert(node.attribute("host_hash").value());
                     if (name == "gpu") count_gpu(node, seen);
                     if (name == "net") count_net(node, seen);
                   });
  return seen;
}

// NCCL's own words (src/graph/topo.h): GB/s of a link.
double gb_per_s_of_a_link(int sm) {
  if (sm >= 100) return 40.1;
  if (sm >= 90) return 20.6;
  return sm >= 80 ? 20.0 : 0.0;
}

}  // namespace

ClusterFacts read_nccl_topology(std::string_view text, const std::string& file) {
  const Seen seen = seen_in(text, file);
  if (seen.gpus == 0) throw InputError(file, "", "holds no <gpu>");
  ClusterFacts facts;
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
  set_counted_nics(seen, hosts, facts);
  if (seen.sm > 0 && !seen.amd) facts.compute_capability = seen.sm;
  if (seen.links > 0 && gb_per_s_of_a_link(seen.sm) > 0.0) {
    facts.notes.push_back(
        fmt::format("{} NVLinks per GPU, which NCCL counts as {} GB/s; the rate is the cluster's",
                    seen.links, number_text(seen.links * gb_per_s_of_a_link(seen.sm))));
  }
  return facts;
}

}  // namespace meshwright::interop
