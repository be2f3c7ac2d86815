// SPDX-License-Identifier: Apache-2.0
// A cluster, and what the groups of a layout get of its wires: what meshwright cluster show
// answers.
#pragma once

#include <string>
#include <vector>

#include "reports/records/origin.h"
#include "sim/collective/group_load.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/record/record.h"

namespace meshwright::reports {

struct ClusterView {
  Origin origin{};
  Cluster cluster{};
  Layout layout{};
  std::int64_t vertices = 0, edges = 0;  // of the graph of its wires
  BytesPerSecond bisection;
  std::vector<GroupLoad> groups{};
};
const Record<ClusterView>& cluster_view_record();

}  // namespace meshwright::reports
