// SPDX-License-Identifier: Apache-2.0
// How long one rank's optimizer step takes: a memory-bound kernel over its share of the parameters,
// on the device or, offloaded, at the pace of the host link.
#pragma once

#include "sim/hardware/cluster.h"
#include "sim/memory/stage_parameters.h"

namespace meshwright {

Cost optimizer_cost(const StageParameters& parameters, const Job& job, const Layout& layout,
                    const Cluster& cluster);

}  // namespace meshwright
