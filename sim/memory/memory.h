// SPDX-License-Identifier: Apache-2.0
// Bytes that one rank of each pipeline stage holds at its peak.
//
// Two parts. Parameters, gradients, optimizer and gather buffers do not change during a step
// (Megatron docs dist_optimizer.md and ZeRO, arXiv 1910.02054); they depend on the data size.
// The rest does, and depends on tensor, context and expert size, micro-batches, recompute and
// schedule alone: peak = max over the states of the stage's program of
//   sum over chunks (micro-batches held x bytes a micro-batch) + what runs in that state needs.
#pragma once

#include <vector>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"
#include "sim/layout/stages.h"
#include "sim/memory/activation_memory.h"
#include "sim/memory/workspace.h"
#include "sim/model/model.h"
#include "sim/schedule/in_flight.h"

namespace meshwright {

struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;              // master weights and moments
  Bytes activations;            // held for backward at the peak
  Bytes recompute_workspace;    // layers that are run again at the peak
  Bytes operator_workspace;     // outputs and gradients of what runs at the peak
  Bytes logits;                 // logits, softmax and loss on the last stage
  Bytes communication_buffers;  // ZeRO-3 gathers, pipeline receive buffers, expert dispatch
  Bytes reserve;                // outside the framework's allocator: context, NCCL
  [[nodiscard]] Bytes total() const {
    return weights + gradients + optimizer + activations + recompute_workspace +
           operator_workspace + logits + communication_buffers + reserve;
  }
  // What the framework's allocator has handed out (torch.cuda.max_memory_allocated).
  [[nodiscard]] Bytes allocated() const { return total() - reserve; }
};

// Parameters that one rank of a stage holds, dense and expert, before ZeRO.
struct StageParameters {
  double dense = 0;
  double expert = 0;
};
StageParameters stage_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                                 const Stage& stage);

// Bytes of the weights alone, as the forward pass holds them: all of the model's states where
// nothing is trained. ZeRO-3 shards them. The operands of fp8_weights() come beside.
Bytes weight_memory(const StageParameters& parameters, const Numerics& numerics,
                    const Layout& layout);
// Bytes of weights, gradients and optimizer state for one rank (ZeRO stages 0-3 as in 1910.02054,
// with this job's number formats). Only a job that trains has the last two.
StageMemory model_state_memory(const StageParameters& parameters, const TrainingJob& job,
                               const Layout& layout);

// Buffers that stand as long as the states do: ZeRO-3's and FSDP's gathered units.
Bytes zero_3_buffers(const Model& model, const Job& job, const Layout& layout, const Stage& stage);

// The layers' weights that Transformer Engine multiplies in fp8 or fp4; none in other formats.
StageParameters fp8_parameters(const Model& model, const Numerics& numerics, const Layout& layout,
                               const Stage& stage);
// Whether they have no 16-bit copy: Megatron-LM takes --fp8-param-gather only with a distributed
// optimizer.
constexpr bool gathers_fp8_params(const Numerics& numerics, const Layout& layout) {
  return numerics.precision == Precision::fp8 && numerics.fp8_param_gather && layout.zero_stage > 0;
}
// Bytes in which such a weight is gathered: MXFP8's go in 16 bits, through the gradients' buffer,
// and are cast where they arrive (Megatron-LM reuse_grad_buf_for_mxfp8_param_ag).
double gathered_narrow_bytes(const Numerics& numerics);
// What fp8 and fp4 add to 16-bit weights: Transformer Engine keeps each linear's operand from a
// step's first micro-batch on (is_first_microbatch), in as many copies as operand_copies() says,
// beside the 16-bit weight or, with fp8_param_gather, instead of it. ZeRO-3 has no whole weights to
// keep.
Bytes fp8_weights(const Model& model, const Numerics& numerics, const Layout& layout,
                  const Stage& stage);

// One chunk's bytes: a micro-batch's, and what each kind of work needs beside.
struct ChunkMemory {
  HeldBytes held;
  Workspace forward, backward, weight;
  Bytes layer;  // of a micro-batch, its layers' average
};
// The chunks of a stage, neighbours that weigh the same as one: the middle ones of an interleaved
// stage do.
struct ChunkGroup {
  Chunk chunk;  // the first of them
  std::vector<LayerRun> layers;
};
struct ChunkGroups {
  std::vector<ChunkGroup> groups;
  std::vector<int> sizes;  // chunks of each
};
ChunkGroups chunk_groups(const Model& model, const Layout& layout, const Stage& stage);
ChunkMemory chunk_memory(const UnitBytes& units, const Layout& layout, const ChunkGroup& group);
// Every chunk by itself.
std::vector<ChunkMemory> chunk_memories(const UnitBytes& units, const Layout& layout,
                                        const ChunkGroups& groups);
// What stands in memory for backward; and in a state, with what runs.
StageMemory held_memory(const std::vector<HeldMicroBatches>& held,
                        const std::vector<ChunkMemory>& chunks);
StageMemory memory_at(const InFlightState& state, const std::vector<ChunkMemory>& chunks);

// Beside them, whatever runs: weight gradients' placeholders, and buffers of communication. `kinds`
// of layers are the stage's.
StageMemory standing_memory(const UnitBytes& units, const Layout& layout, unsigned kinds);

// What stays for the whole step: model states and ZeRO-3's gathered units. Depends on the data size
// and ZeRO; not on micro-batches, recompute or schedule. In whole bytes, as all below, so that the
// order in which they are added changes nothing.
StageMemory static_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage);
// What comes and goes, at its peak: activations, workspaces, logits, and what stands beside them.
// Does not depend on ZeRO or the data size, but for the number of micro-batches that this leaves.
// `states` are the stage's in_flight_states, grouped as `chunks` are.
StageMemory moving_memory(const StageMemory& standing, const std::vector<ChunkMemory>& chunks,
                          const std::vector<InFlightState>& states);
StageMemory moving_memory(const Model& model, const Job& job, const Layout& layout,
                          const Stage& stage, int stage_index);
// Both.
StageMemory stage_memory(const StageMemory& fixed, StageMemory moving);
StageMemory stage_memory(const Model& model, const Job& job, const Layout& layout,
                         const Stage& stage, int stage_index);

// What a framework prints as the peak of a step that allocates so much: that, or what its allocator
// has reserved by then, on a full device all of it (it hands back what is free and tries again).
Bytes printed_peak(Bytes allocated, const MemoryFacts& facts, const Device& device);

// Outside the framework's allocator: CUDA's context, and NCCL's buffers of every group that a rank
// is in (tensor, pipeline, data, context, expert): more communicators, more memory (nccl issues
// 864, 986). Reads the parallel sizes alone.
Bytes outside_allocator(const Device& device, const Layout& layout);

}  // namespace meshwright
