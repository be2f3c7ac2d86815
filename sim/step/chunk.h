// SPDX-License-Identifier: Apache-2.0
// What one micro-batch costs on one model chunk of one rank: its operators' times and the
// collectives that stand between them.
//
// Communication that runs beside an operator costs what sticks out of it, plus the slow-down of the
// operator (pairing.h).
#pragma once

#include "sim/kernel_time/compute.h"
#include "sim/kernel_time/host.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/step/pairing.h"
#include "sim/step/scenario.h"

namespace meshwright {

// Of one micro-batch.
struct CommunicationCost {
  Cost tensor, context, expert;  // by the axis that causes it
  [[nodiscard]] Seconds total() const { return tensor.time + context.time + expert.time; }
};

// How long calls hold a device's links inside the node and its NIC, hidden or not.
struct WireTime {
  Seconds inside, across;
  [[nodiscard]] Seconds& on(Tier tier) { return tier == Tier::inter_node ? across : inside; }
  [[nodiscard]] Seconds on(Tier tier) const { return tier == Tier::inter_node ? across : inside; }
  void add(const WireTime& more, double count) {
    inside += more.inside * count;
    across += more.across * count;
  }
};

// What operators and calls add up to. Linear: a chunk is the sum of its layers, embedding and head.
struct UnitCost {
  Cost forward, backward_input, backward_weight, recompute;
  CommunicationCost forward_communication, backward_communication;  // what sticks out
  WireTime forward_wires, backward_wires;
  double forward_launches = 0, backward_launches = 0;  // kernels and calls that the host submits
  double forward_waited = 0, backward_waited = 0;      // of them, those before which it waits
  Seconds hidden_exchange;  // of tokens, both ways, beside another micro-batch
};

struct ChunkCost {
  Cost forward;  // compute
  Cost backward_input;
  Cost backward_weight;
  Cost recompute;  // forward work done again in backward
  CommunicationCost forward_communication;
  CommunicationCost backward_communication;  // with what recompute repeats
  WireTime forward_wires, backward_wires;
  Seconds forward_host, backward_host;  // what the host's launches add
  Seconds hidden_exchange;

  [[nodiscard]] Seconds forward_time() const {
    return forward.time + forward_communication.total();
  }
  [[nodiscard]] Seconds backward_time() const {
    return recompute.time + backward_input.time + backward_weight.time +
           backward_communication.total();
  }
};

// One layer of a kind, alone; whole: recomputed from its input, otherwise as the layout's selective
// recompute has it.
UnitCost layer_cost(const Scenario& scenario, const Layout& layout, LayerKind kind,
                    bool recomputed_whole);
UnitCost embedding_cost(const Scenario& scenario, const Layout& layout);
// Final norm, logits and loss; with multi-token prediction once more for each depth.
UnitCost head_cost(const Scenario& scenario, const Layout& layout);

// Multi-token prediction's layers, look-ups and projections.
UnitCost mtp_cost(const Scenario& scenario, const Layout& layout);

// `count` times `from`.
void add(UnitCost& to, const UnitCost& from, double count);

// What a chunk costs: the host adds its launches.
ChunkCost chunk_cost(const UnitCost& sum, const Cluster& cluster);

}  // namespace meshwright
