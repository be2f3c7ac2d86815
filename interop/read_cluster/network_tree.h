// SPDX-License-Identifier: Apache-2.0
// Which hosts hang on which switches: what leaves, pods and NVLink domains a cluster has.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "interop/read_cluster/cluster_facts.h"

namespace meshwright::interop {

struct HostPlace {
  std::vector<std::string> switches;  // the nearest first
  std::string domain;                 // of NVLink; empty: not said
};
using NetworkTree = std::map<std::string, HostPlace>;  // by host

// Hosts in all, below a leaf, below a pod where there is more than one, in a domain: the most of
// each, with a note where they differ.
ClusterFacts facts_of(const NetworkTree& tree);

}  // namespace meshwright::interop
