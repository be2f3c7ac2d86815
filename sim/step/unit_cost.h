// SPDX-License-Identifier: Apache-2.0
// What one micro-batch costs on a layer, the embedding, the head or multi-token prediction of one
// rank: its operators' times and the collectives that stand between them.
//
// Communication that runs beside an operator costs its exposed time, plus the slow-down of the
// operator (pairing.h).
#pragma once

#include "sim/kernel_time/compute.h"
#include "sim/layout/layout.h"
#include "sim/step/operator_cost.h"
#include "sim/step/scenario.h"
#include "sim/volume/volume.h"

namespace meshwright {

// For one micro-batch.
struct CommunicationCost {
  Cost tensor, context, expert;  // by the axis that causes it
  [[nodiscard]] Seconds total() const { return tensor.time + context.time + expert.time; }
};

// Seconds in which calls use a device's links inside the node and its NIC, overlapped or not.
struct WireTime {
  Seconds inside, across;
  [[nodiscard]] Seconds& on(Tier tier) { return tier == Tier::inter_node ? across : inside; }
  [[nodiscard]] Seconds on(Tier tier) const { return tier == Tier::inter_node ? across : inside; }
  void add(const WireTime& more, double count) {
    inside += more.inside * count;
    across += more.across * count;
  }
};

// Sum of operators and calls. It is linear: a chunk is the sum of its layers, embedding and head.
struct UnitCost {
  Cost forward, backward_input, backward_weight, recompute;
  CommunicationCost forward_communication, backward_communication;  // exposed
  WireTime forward_wires, backward_wires;
  double forward_launches = 0, backward_launches = 0;  // kernels and calls that the host submits
  double forward_waited = 0, backward_waited = 0;      // launches for which the host waits
  // Token exchange, both ways, overlapped with another micro-batch.
  Seconds hidden_exchange;
};

// One layer of a kind, alone; whole: recomputed from its input, otherwise as the layout's selective
// recompute has it.
UnitCost layer_cost(const Scenario& scenario, const Layout& layout, LayerKind kind,
                    bool recomputed_whole, KernelCosts* known = nullptr);
UnitCost embedding_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known);
// Final norm, logits and loss; with multi-token prediction once more for each depth.
UnitCost head_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known);

// Multi-token prediction's layers, look-ups and projections.
UnitCost mtp_cost(const Scenario& scenario, const Layout& layout, KernelCosts* known);

// `count` times `from`.
void add(UnitCost& to, const UnitCost& from, double count);

}  // namespace meshwright
