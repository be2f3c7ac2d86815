// SPDX-License-Identifier: Apache-2.0
// Time of an operator of a unit on the slowest device, by pass.
#pragma once

#include <cstddef>
#include <unordered_map>

#include "sim/kernel_time/compute.h"
#include "sim/layout/layout.h"
#include "sim/layout/token_shape.h"
#include "sim/operators/operators.h"
#include "sim/step/pairing.h"
#include "sim/step/scenario.h"

namespace meshwright {

struct OperatorCost {
  Cost forward, input, weight;
};

// Costs of one scenario's kernels, by operator and by whether a graph of the whole step holds the
// experts' kernels. Layouts that differ in communication alone run the same operators.
struct KernelKey {
  Operator op;
  bool captures_experts = false;
  bool operator==(const KernelKey&) const = default;
};
struct KernelKeyHash {
  std::size_t operator()(const KernelKey& key) const;
};
using KernelCosts = std::unordered_map<KernelKey, OperatorCost, KernelKeyHash>;

// Inputs of a unit's cost; the layout is that of layout_of_layer().
struct UnitScope {
  const Scenario& scenario;
  Layout layout;
  KernelCosts* known = nullptr;  // costs that are computed already; null: none are kept
  TokenShape tokens = micro_batch_tokens(scenario.job, layout);
};

OperatorCost operator_cost(const Operator& op, const UnitScope& unit);
// One pass; a product cut into pieces, as so many smaller ones.
Seconds pass_time(Operator op, LinearPass pass, int pieces, const UnitScope& unit);

}  // namespace meshwright
