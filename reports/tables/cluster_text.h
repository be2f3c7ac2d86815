// SPDX-License-Identifier: Apache-2.0
// A cluster for people: its tree with speeds, a table of its numbers with where each came from, and
// what the groups of a layout get of its wires.
#pragma once

#include <string>
#include <vector>

#include "reports/tables/table.h"
#include "sim/collective/group_load.h"
#include "sim/hardware/cluster.h"

namespace meshwright::reports {

// From the core down to the devices; alike parts are drawn once with their count. Lines of at
// most `width` characters; 0: of any length.
std::string cluster_tree(const Cluster& cluster, std::size_t width = 0);

// Every number that an estimate takes from the cluster: value, unit, provenance.
Table cluster_numbers_table(const Cluster& cluster);

Table group_loads_table(const std::vector<GroupLoad>& loads);

}  // namespace meshwright::reports
