// SPDX-License-Identifier: Apache-2.0
// Slurm's topology.conf (man topology.conf: keys in any case, # comments, lines that go on after a
// backslash) and topology.yaml (man topology.yaml). `scontrol show topology` has the form of the
// first, and lists all hosts below each switch. Blocks are NVLink domains.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "interop/read_cluster/hostlist.h"
#include "interop/read_cluster/network_tree.h"
#include "interop/read_cluster/read_cluster.h"
#include "interop/read_launch/document.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kDeepestSwitch = 20;

struct Switch {
  std::vector<std::string> hosts, children;
  Place place;
};

// Switches and blocks by name, and the tree that they make.
class Fabric {
 public:
  void add_switch(const std::string& name, const Switch& node) {
    if (!switches_.try_emplace(name, node).second) {
      throw InputError(node.place.text(), "", fmt::format("switch {} is listed twice", name));
    }
  }
  void add_block(const std::string& name, const std::vector<std::string>& hosts) {
    for (const std::string& host : hosts) tree_[host].domain = name;
  }
  NetworkTree tree() {
    std::map<std::string, std::string> above;
    for (const auto& [name, node] : switches_) {
      for (const std::string& child : node.children) {
        if (!switches_.contains(child)) {
          throw InputError(node.place.text(), "", fmt::format("no switch is named {}", child));
        }
        above[child] = name;
      }
    }
    for (const auto& [name, node] : switches_) {
      const std::vector<std::string> path = path_from(name, above);
      // A host hangs on the lowest of the switches that list it.
      for (const std::string& host : node.hosts) {
        std::vector<std::string>& known = tree_[host].switches;
        if (path.size() > known.size()) known = path;
      }
    }
    return tree_;
  }

 private:
  [[nodiscard]] std::vector<std::string> path_from(
      std::string name, const std::map<std::string, std::string>& above) const {
    std::vector<std::string> path{name};
    for (auto up = above.find(name); up != above.end(); up = above.find(name)) {
      name = up->second;
      path.push_back(name);
      if (path.size() > kDeepestSwitch) {
        throw InputError(switches_.at(path.front()).place.text(), "",
                         "switches stand more than 20 deep, or below themselves");
      }
    }
    return path;
  }

  std::map<std::string, Switch> switches_;
  NetworkTree tree_;
};

// "switchname=s0 nodes=dev[0-5]" as keys and values.
std::map<std::string, std::string> keys_of(const std::string& line) {
  std::map<std::string, std::string> keys;
  for (const std::string& word : split_words(line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    keys[lower_case(word.substr(0, equals))] = word.substr(equals + 1);
  }
  return keys;
}

ClusterFacts with_hosts(Fabric& fabric, const std::string& file) {
  const NetworkTree tree = fabric.tree();
  if (tree.empty()) throw InputError(file, "", "names no hosts");
  return facts_of(tree);
}

void add_line(Fabric& fabric, ClusterFacts& facts, const std::string& line, const Place& place) {
  const std::map<std::string, std::string> keys = keys_of(line);
  const auto value = [&](const char* key) {
    const auto found = keys.find(key);
    return found == keys.end() ? std::string() : found->second;
  };
  const std::vector<std::string> hosts = expanded_hostlist(value("nodes"), place);
  if (const std::string name = value("switchname"); !name.empty()) {
    fabric.add_switch(name, {hosts, expanded_hostlist(value("switches"), place), place});
  } else if (const std::string block = value("blockname"); !block.empty()) {
    fabric.add_block(block, hosts);
  } else if (keys.contains("ringname")) {
    facts.notes.push_back(place.text() + ": rings are not modelled");
  }
}

// "0.tree.switches.3.nodes": the entry "0.tree.switches.3" has "nodes".
std::map<std::string, std::map<std::string, Value>> entries_below(const Values& values,
                                                                  std::string_view list) {
  std::map<std::string, std::map<std::string, Value>> entries;
  for (const Value& value : values.all()) {
    const std::size_t at = value.key.find(list);
    const std::size_t dot = value.key.rfind('.');
    if (at == std::string::npos || dot == std::string::npos || dot < at + list.size()) continue;
    entries[value.key.substr(0, dot)][value.key.substr(dot + 1)] = value;
  }
  return entries;
}

}  // namespace

ClusterFacts read_slurm_topology_conf(std::string_view text, const std::string& file) {
  Fabric fabric;
  ClusterFacts seen;
  std::string whole;
  int number = 0;
  for (const std::string& typed : split_lines(text)) {
    ++number;
    std::string line = trimmed_right(typed);
    line.resize(std::min(line.find('#'), line.size()));
    const bool goes_on = !line.empty() && line.back() == '\\';
    if (goes_on) line.pop_back();
    whole += line + " ";
    if (goes_on) continue;
    add_line(fabric, seen, whole, {file, number});
    whole.clear();
  }
  ClusterFacts facts = with_hosts(fabric, file);
  facts.notes.insert(facts.notes.end(), seen.notes.begin(), seen.notes.end());
  return facts;
}

ClusterFacts read_slurm_topology_yaml(std::string_view text, const std::string& file) {
  const Values values = values_of_yaml(text, file);
  Fabric fabric;
  for (const auto& [at, entry] : entries_below(values, "tree.switches.")) {
    const auto hosts_at = [&entry = entry](const char* key) {
      const auto found = entry.find(key);
      if (found == entry.end()) return std::vector<std::string>();
      return expanded_hostlist(fmt::format("{}", fmt::join(found->second.words, ",")),
                               found->second.place);
    };
    const auto name = entry.find("switch");
    if (name == entry.end()) throw InputError(file, "", at + " has no name of a switch");
    fabric.add_switch(word_of(name->second),
                      {hosts_at("nodes"), hosts_at("children"), name->second.place});
  }
  for (const auto& [at, entry] : entries_below(values, "block.blocks.")) {
    const auto name = entry.find("block");
    const auto hosts = entry.find("nodes");
    if (name == entry.end() || hosts == entry.end()) {
      throw InputError(file, "", at + " has no name or no nodes");
    }
    fabric.add_block(word_of(name->second),
                     expanded_hostlist(fmt::format("{}", fmt::join(hosts->second.words, ",")),
                                       hosts->second.place));
  }
  return with_hosts(fabric, file);
}

}  // namespace meshwright::interop
