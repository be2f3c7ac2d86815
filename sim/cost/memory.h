// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank of each pipeline stage holds at its peak.
//
// Parameters, gradients, optimizer: Megatron docs dist_optimizer.md and ZeRO (arXiv 1910.02054).
// Activations: the operators' saved bytes (Korthikanti 2022) times what the schedule keeps in
// flight.
#pragma once

#include <vector>

#include "sim/hardware/cluster.h"
#include "sim/job.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/model/model.h"
#include "sim/units.h"

namespace meshwright {

struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;              // master weights and moments
  Bytes activations;            // in flight at the peak
  Bytes recompute_workspace;    // one layer, run again
  Bytes logits;                 // logits, softmax and loss on the last stage
  Bytes communication_buffers;  // ZeRO-3 gathers, pipeline receive buffers, expert dispatch
  Bytes reserve;                // allocator, context, library workspaces: an allowance, sourced
  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + recompute_workspace + logits +
           communication_buffers + reserve;
  }
};

// Parameters that one rank of a stage holds, dense and expert, before ZeRO.
struct StageParameters {
  double dense = 0;
  double expert = 0;
};
StageParameters stage_parameters(const Model& model, const Job& job, const Layout& layout,
                                 const Stage& stage);

// Bytes of weights, gradients and optimizer state for one rank (ZeRO stages 0-3 as in 1910.02054,
// with this job's number formats).
StageMemory model_state_memory(const StageParameters& parameters, const Job& job,
                               const Layout& layout);

// Activation bytes of one micro-batch: one layer, and what embedding or head add.
Bytes layer_activation_bytes(const Model& model, LayerKind kind, const Job& job,
                             const Layout& layout, bool fully_recomputed);

// Micro-batches (times chunks) whose activations stage `stage` holds at its peak, in units of one
// chunk.
double activations_in_flight(const Layout& layout, int num_micro_batches, int stage);

StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index);

// The allowance: CUDA context, cuBLAS and NCCL buffers, fragmentation. Zero for a CPU.
Bytes allocator_reserve(const Device& device, const Layout& layout);

}  // namespace meshwright
