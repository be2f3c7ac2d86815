// SPDX-License-Identifier: Apache-2.0
// ibnetdiscover: each node of the subnet, its links below it: Switch 65 "S-b8.." # "MF0;leaf1:..."
// then [1] "H-e8.."[1](e8..) # "node1 mlx5_0" lid 12 4xNDR. Hosts of adapters are the first word of
// the adapter's description.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>

#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/read_cluster.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

// Gb/s of a lane (IBTA): 4xNDR is 400.
double lane_gigabits(const std::string& speed) {
  constexpr std::pair<const char*, double> kLanes[] = {
      {"SDR", 2.5},  {"DDR", 5.0},  {"QDR", 10.0},  {"FDR10", 10.0}, {"FDR", 14.0},
      {"EDR", 25.0}, {"HDR", 50.0}, {"NDR", 100.0}, {"XDR", 200.0}};
  for (const auto& [name, gigabits] : kLanes) {
    if (speed == name) return gigabits;
  }
  return 0.0;
}

// "4xNDR": 400; 0 where a line ends otherwise.
double gigabits_of(const std::string& word) {
  const std::size_t cross = word.find('x');
  if (cross == std::string::npos || cross == 0 || cross > 2) return 0.0;
  if (word.find_first_not_of("0123456789") != cross) return 0.0;
  return std::atoi(word.c_str()) * lane_gigabits(word.substr(cross + 1));
}

std::vector<std::string> quotes_in(const std::string& line) {
  std::vector<std::string> quotes;
  const std::vector<std::string> parts = split(line, '"');
  for (std::size_t i = 1; i + 1 < parts.size(); i += 2) quotes.push_back(parts[i]);
  return quotes;
}

struct SubnetNode {
  bool is_switch = false;
  std::string description;
};
struct SubnetLink {
  std::string from, to;
  double gigabits = 0.0;
};

// Switches, adapters, and links from switches to either.
struct Subnet {
  std::map<std::string, SubnetNode> nodes;
  std::vector<SubnetLink> links;
};

Subnet subnet_in(std::string_view text, const std::string& file) {
  Subnet subnet;
  std::string node;
  for (const std::string& line : split_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.empty()) continue;
    const std::vector<std::string> quotes = quotes_in(line);
    const bool is_switch = words.front() == "Switch";
    if ((is_switch || words.front() == "Ca" || words.front() == "Rt") && !quotes.empty()) {
      node = quotes.front();
      subnet.nodes[node] = {is_switch, quotes.size() > 1 ? quotes[1] : ""};
    } else if (line.front() == '[' && !quotes.empty() && quotes.front().starts_with("S-") &&
               !node.empty() && !subnet.nodes[node].is_switch) {
      continue;  // the switch's own list has this link, too
    } else if (line.front() == '[' && !quotes.empty() && !node.empty()) {
      SubnetNode& peer = subnet.nodes[quotes.front()];
      peer.is_switch = quotes.front().starts_with("S-");
      if (peer.description.empty() && quotes.size() > 1) peer.description = quotes[1];
      subnet.links.push_back({node, quotes.front(), gigabits_of(words.back())});
    }
    if (subnet.nodes.size() > kMostHosts) {
      throw InputError(file, "", "names more than 100,000 switches and adapters");
    }
  }
  return subnet;
}

// "node1" of "node1 mlx5_0"; empty for switches' own aggregation nodes, and where no name was set.
std::string host_of(const SubnetNode& node) {
  if (node.is_switch || contains(node.description, "Aggregation Node")) return "";
  const std::vector<std::string> words = split_words(node.description);
  if (words.empty() || contains(node.description, "Mellanox Technologies")) return "";
  return words.front();
}

struct LeafPorts {
  std::set<std::string> hosts;
  double down = 0.0, up = 0.0;  // Gb/s
};

class SubnetFacts {
 public:
  SubnetFacts(const Subnet& subnet, const std::string& file) : subnet_(subnet), file_(file) {
    for (const auto& [id, node] : subnet.nodes) {
      if (const std::string host = host_of(node); !host.empty()) host_of_[id] = host;
    }
    for (const SubnetLink& link : subnet.links) {
      if (const auto host = host_of_.find(link.to); host != host_of_.end()) {
        ports_[host->second].push_back(&link);
        leaves_[link.from];
      }
    }
  }

  ClusterFacts facts() {
    if (ports_.empty()) {
      throw InputError(file_, "", "names no host that hangs on a switch",
                       "adapters are named \"HOST mlx5_0\" (their node description)");
    }
    read_hosts();
    read_leaves();
    read_spines();
    return std::move(facts_);
  }

 private:
  // Most ports belong to the hosts with GPUs; those with fewer are of storage, login or control.
  void read_hosts() {
    std::map<std::size_t, int> hosts_by_ports;
    for (const auto& [host, links] : ports_) ++hosts_by_ports[links.size()];
    std::size_t best = 0;
    for (const auto& [ports, hosts] : hosts_by_ports) {
      const std::size_t most = best * static_cast<std::size_t>(best > 0 ? hosts_by_ports[best] : 0);
      if (ports * static_cast<std::size_t>(hosts) >= most) best = ports;
    }
    int others = 0;
    std::map<double, int> rates;
    for (const auto& [host, links] : ports_) {
      if (links.size() != best) {
        ++others;
        continue;
      }
      counted_.insert(host);
      for (const SubnetLink* link : links) ++rates[link->gigabits];
    }
    facts_.num_hosts = static_cast<int>(counted_.size());
    facts_.ports_listed = static_cast<int>(best);
    if (others > 0) {
      facts_.notes.push_back(
          fmt::format("{} hosts with {} ports each count; {} with another number are left out "
                      "(storage, login, or "
                      "links that are down)",
                      counted_.size(), best, others));
    }
    if (rates.size() == 1 && rates.begin()->first > 0.0) {
      facts_.nic_gb_per_s = rates.begin()->first / 8.0;
    } else {
      facts_.notes.emplace_back("hosts' links have several rates: the cluster's is kept");
    }
  }

  void read_leaves() {
    int apart = 0, together = 0;
    for (const std::string& host : counted_) {
      std::set<std::string> switches;
      for (const SubnetLink* link : ports_[host]) {
        leaves_[link->from].hosts.insert(host);
        switches.insert(link->from);
      }
      const std::size_t ports = ports_[host].size();
      if (ports > 1) ++(switches.size() == ports ? apart : together);
      if (ports > 1 && switches.size() > 1 && switches.size() < ports) ++mixed_;
    }
    int most = 0;
    for (const auto& [id, leaf] : leaves_)
      most = std::max(most, static_cast<int>(leaf.hosts.size()));
    facts_.hosts_per_leaf = most;
    if (mixed_ > 0) {
      facts_.notes.emplace_back(
          "NICs of a host hang on several leaves, some on the same one: the cluster's kind of "
          "network "
          "is kept");
    } else if (apart + together > 0) {
      facts_.network = apart > together ? NetworkFabric::rail_optimised : NetworkFabric::fat_tree;
    }
  }

  // Leaf ports down over leaf ports up, of the worst leaf; spines join leaves to pods.
  void read_spines() {
    std::map<std::string, std::pair<double, double>> spines;  // down, up
    for (const SubnetLink& link : subnet_.links) {
      const auto leaf = leaves_.find(link.from);
      const bool to_switch = link.to.starts_with("S-");
      if (leaf != leaves_.end() && to_switch && !leaves_.contains(link.to)) {
        leaf->second.up += link.gigabits;
        spines[link.to].first += link.gigabits;
        join(link.from, link.to);
      } else if (leaf != leaves_.end() && host_of_.contains(link.to)) {
        leaf->second.down += link.gigabits;
      }
    }
    for (const SubnetLink& link : subnet_.links) {
      const auto spine = spines.find(link.from);
      const bool up = link.to.starts_with("S-") && !leaves_.contains(link.to);
      if (spine != spines.end() && up) spine->second.second += link.gigabits;
    }
    double worst = 0.0, worst_core = 0.0;
    for (const auto& [id, leaf] : leaves_) {
      if (leaf.up > 0.0) worst = std::max(worst, leaf.down / leaf.up);
    }
    for (const auto& [id, ports] : spines) {
      if (ports.second > 0.0) worst_core = std::max(worst_core, ports.first / ports.second);
    }
    if (worst > 0.0) facts_.spine_oversubscription = std::max(1.0, worst);
    if (worst_core > 0.0) facts_.core_oversubscription = std::max(1.0, worst_core);
    facts_.notes.push_back(
        fmt::format("{} leaf switches, {} spine switches", leaves_.size(), spines.size()));
    read_pods();
  }

  void join(const std::string& a, const std::string& b) { above_[root(a)] = root(b); }
  std::string root(std::string id) {
    for (auto up = above_.find(id); up != above_.end() && up->second != id; up = above_.find(id)) {
      id = up->second;
    }
    return id;
  }

  // Rails of their own planes hold all hosts each: they are no pods.
  void read_pods() {
    std::map<std::string, std::set<std::string>> pods;
    for (const auto& [id, leaf] : leaves_) {
      if (leaf.up > 0.0) pods[root(id)].insert(leaf.hosts.begin(), leaf.hosts.end());
    }
    std::size_t most = 0;
    for (const auto& [id, hosts] : pods) most = std::max(most, hosts.size());
    if (pods.size() > 1 && most < counted_.size()) facts_.hosts_per_pod = static_cast<int>(most);
  }

  const Subnet& subnet_;
  const std::string& file_;
  std::map<std::string, std::string> host_of_, above_;
  std::map<std::string, std::vector<const SubnetLink*>> ports_;  // by host
  std::map<std::string, LeafPorts> leaves_;
  std::set<std::string> counted_;
  int mixed_ = 0;
  ClusterFacts facts_;
};

}  // namespace

bool has_ibnetdiscover(std::string_view text) {
  return contains(text, "\"S-") && (contains(text, "Switch") || contains(text, "switchguid="));
}

ClusterFacts read_ibnetdiscover(std::string_view text, const std::string& file) {
  const Subnet subnet = subnet_in(text, file);
  return SubnetFacts(subnet, file).facts();
}

}  // namespace meshwright::interop
