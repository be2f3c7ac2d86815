// SPDX-License-Identifier: Apache-2.0
// What the transfers of a unit add to its cost: alone, or the part exposed beside the operators
// that they run beside (pairing.h).
#pragma once

#include <vector>

#include "sim/layout/stages.h"
#include "sim/step/operator_cost.h"
#include "sim/step/unit_cost.h"

namespace meshwright {

// `ops` are those that the chunk's transfers can run beside.
void add_communication(UnitCost& sum, const std::vector<Operator>& ops, const Chunk& chunk,
                       const UnitScope& unit);
// Ranks that exchange something in every layer wait for the slowest of them there. The first such
// axis pays for all: tensor, else context, else expert ranks, which are some of these and others.
void add_waiting(UnitCost& cost, const UnitScope& unit);

}  // namespace meshwright
