// SPDX-License-Identifier: Apache-2.0
// Replicas of a service hour by hour, and the hosts that they take.
//
// A host is a node, or a compute tray where a node is a rack of them. GPUs change between service
// and training in whole hosts, at the full hour.
#pragma once

#include <vector>

#include "sim/hardware/cluster.h"

namespace meshwright::planner {

// Full hours before its first request at which a replica must get its GPUs: ceil(seconds / 3600).
int lead_hours(double start_seconds);

// When GPUs are held, from the replicas that each hour needs; the hours repeat.
//   lead     hour h holds what hours h to h + lead need: a replica starts before its first request
//   release  GPUs go back only for `release` hours or more; a shorter dip is held over
// `lead` 0 and `release` 1: what the hour needs.
std::vector<int> held_replicas(const std::vector<int>& needed, int lead, int release);

int gpus_of_host(const Cluster& cluster);
// Replicas do not share a host with parts of themselves: a replica of several hosts takes whole
// ones, and a host holds only whole small ones.
int hosts_for_replicas(int replicas, int gpus_of_replica, int host_gpus);

}  // namespace meshwright::planner
