// SPDX-License-Identifier: Apache-2.0
// Cost of one micro-batch on one model chunk of one rank.
#pragma once

#include "sim/hardware/cluster.h"
#include "sim/step/unit_cost.h"

namespace meshwright {

struct ChunkCost {
  Cost forward;  // compute
  Cost backward_input;
  Cost backward_weight;
  Cost recompute;  // forward work done again in backward
  CommunicationCost forward_communication;
  CommunicationCost backward_communication;  // with what recompute repeats
  WireTime forward_wires, backward_wires;
  Seconds forward_host, backward_host;  // time that the host's launches add
  Seconds hidden_exchange;

  [[nodiscard]] Seconds forward_time() const {
    return forward.time + forward_communication.total();
  }
  [[nodiscard]] Seconds backward_time() const {
    return recompute.time + backward_input.time + backward_weight.time +
           backward_communication.total();
  }
};

// Cost of a chunk, with the host's launches.
ChunkCost chunk_cost(const UnitCost& sum, const Cluster& cluster);

}  // namespace meshwright
