// SPDX-License-Identifier: Apache-2.0
#include "interop/read_cluster/network_tree.h"

#include <fmt/format.h>

#include <algorithm>

namespace meshwright::interop {
namespace {

struct Groups {
  std::map<std::string, int> sizes;
  void add(const std::string& name) { ++sizes[name]; }
  [[nodiscard]] int most() const {
    int most = 0;
    for (const auto& [name, size] : sizes) most = std::max(most, size);
    return most;
  }
  [[nodiscard]] int least() const {
    int least = most();
    for (const auto& [name, size] : sizes) least = std::min(least, size);
    return least;
  }
};

void note_if_uneven(ClusterFacts& facts, const Groups& groups, const char* what) {
  if (groups.sizes.empty() || groups.least() == groups.most()) return;
  facts.notes.push_back(fmt::format("{} hold {} to {} hosts: counted as {} each", what,
                                    groups.least(), groups.most(), groups.most()));
}

}  // namespace

ClusterFacts facts_of(const NetworkTree& tree) {
  ClusterFacts facts;
  facts.num_hosts = static_cast<int>(tree.size());
  Groups leaves;
  Groups pods;
  Groups domains;
  std::size_t levels = 0;
  for (const auto& [host, place] : tree) {
    if (!place.switches.empty()) leaves.add(place.switches.front());
    if (place.switches.size() > 1) pods.add(place.switches[1]);
    if (!place.domain.empty()) domains.add(place.domain);
    levels = std::max(levels, place.switches.size());
  }
  if (!leaves.sizes.empty()) facts.hosts_per_leaf = leaves.most();
  if (pods.sizes.size() > 1) facts.hosts_per_pod = pods.most();
  if (domains.most() > 1) facts.hosts_per_domain = domains.most();
  note_if_uneven(facts, leaves, "leaf switches");
  note_if_uneven(facts, domains, "NVLink domains");
  if (levels > 3)
    facts.notes.push_back(fmt::format("{} levels of switches: three are modelled", levels));
  return facts;
}

}  // namespace meshwright::interop
