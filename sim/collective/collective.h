// SPDX-License-Identifier: Apache-2.0
// How long one collective takes on one group.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"

namespace meshwright {

// Bus-bandwidth factor: busbw = factor * payload / time (nccl-tests doc/PERFORMANCE.md).
double bus_factor(Collective collective, int group_size);

// Where a measured curve's groups sat; what its file does not state is as older calibrations did
// it: nodes filled one after the other, one group alone.
Placement measured_placement(const CollectiveCurve& curve, Tier tier, const Cluster& cluster);

// One call. Where the link has a measured curve for this collective: monotone log-log interpolation
// between its points, constant below the first, constant algorithm bandwidth above the last; over
// other group sizes scaled by ring steps (labelled extrapolated). Otherwise latency per step +
// bytes / (bandwidth * fraction): ring inside a node, hierarchical (reduce-scatter inside,
// all-reduce across, all-gather inside) over nodes; NICs shared by groups_per_node groups.
Cost collective_cost(Collective collective, Bytes payload, const Placement& placement,
                     const Cluster& cluster);

}  // namespace meshwright
