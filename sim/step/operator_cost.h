// SPDX-License-Identifier: Apache-2.0
// Time of an operator of a unit on the slowest device, by pass.
#pragma once

#include "sim/kernel_time/compute.h"
#include "sim/layout/layout.h"
#include "sim/layout/token_shape.h"
#include "sim/operators/operators.h"
#include "sim/step/pairing.h"
#include "sim/step/scenario.h"

namespace meshwright {

// Inputs of a unit's cost; the layout is that of layout_of_layer().
struct UnitScope {
  const Scenario& scenario;
  Layout layout;
  TokenShape tokens = micro_batch_tokens(scenario.job, layout);
};

struct OperatorCost {
  Cost forward, input, weight;
};
OperatorCost operator_cost(const Operator& op, const UnitScope& unit);
// One pass; a product cut into pieces, as so many smaller ones.
Seconds pass_time(Operator op, LinearPass pass, int pieces, const UnitScope& unit);

}  // namespace meshwright
