// SPDX-License-Identifier: Apache-2.0
// What one micro-batch costs on one model chunk of one rank: its operators' times and the
// collectives that stand between them.
//
// Communication that can hide behind compute costs what sticks out, plus the slow-down of the
// compute it runs beside.
#pragma once

#include "sim/cost/compute.h"
#include "sim/cost/volume.h"
#include "sim/hardware/cluster.h"
#include "sim/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"

namespace meshwright {

// Time that overlapped communication adds to the compute it hides behind:
// max(0, communication - compute) + slowdown * min(communication, compute).
Seconds exposed_time(Seconds communication, Seconds compute, double overlap_slowdown);

// Communication of one micro-batch, by the axis that causes it.
struct CommunicationCost {
  Cost tensor, context, expert;
  [[nodiscard]] Seconds total() const { return tensor.time + context.time + expert.time; }
};

struct ChunkCost {
  Cost forward;  // compute
  Cost backward_input;
  Cost backward_weight;
  Cost recompute;  // forward work done again in backward
  CommunicationCost forward_communication;
  CommunicationCost backward_communication;  // with what recompute repeats
  Seconds host;                              // what the host's launches add, forward and backward

  [[nodiscard]] Seconds forward_time() const {
    return forward.time + forward_communication.total();
  }
  [[nodiscard]] Seconds backward_time() const {
    return recompute.time + backward_input.time + backward_weight.time +
           backward_communication.total();
  }
};

ChunkCost chunk_cost(const Model& model, const Cluster& cluster, const Job& job,
                     const Layout& layout, const Chunk& chunk, int stage_layers);

}  // namespace meshwright
