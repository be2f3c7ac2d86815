// SPDX-License-Identifier: Apache-2.0
// Hosts of a scheduler's list, counted by the GPUs that they have. Hosts without whole GPUs and
// those that are not up do not count; the rest must be of one kind.
#pragma once

#include <map>
#include <string>

#include "interop/read_cluster/cluster_facts.h"

namespace meshwright::interop {

// GPUs of a host by their type, "" where none is said; MIG slices apart.
struct HostGpus {
  std::map<std::string, int> gpus;
  int slices = 0;
  void add(const std::string& type, long count);
};

class HostTally {
 public:
  void add(int hosts, const HostGpus& gpus, bool up);
  // Throws InputError: no host counts, or several kinds do; `hint` says which list to give.
  [[nodiscard]] ClusterFacts facts(const std::string& file, const std::string& hint) const;

 private:
  std::map<std::string, int> hosts_by_kind_;
  HostGpus known_;  // GPUs of a host that counts
  int without_ = 0, out_ = 0, sliced_ = 0;
};

}  // namespace meshwright::interop
