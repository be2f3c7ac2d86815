// SPDX-License-Identifier: Apache-2.0
// Time of one entry of the ledger in a step: all its calls, over the ranks that it spans.
#pragma once

#include "sim/collective/collective.h"
#include "sim/volume/volume.h"

namespace meshwright {

// Where a transfer's ranks sit. A transfer may span part of its axis's group: neighbours in it (a
// hybrid shard, the inner group of hierarchical context parallelism) or every n-th rank (a shard's
// copies).
Placement place(const Transfer& transfer, const Layout& layout, const Cluster& cluster);

// times_per_step calls, slowed by what the framework makes of collectives.
Cost transfer_cost(const Transfer& transfer, const Layout& layout, const Cluster& cluster);

}  // namespace meshwright
