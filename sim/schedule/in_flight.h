// SPDX-License-Identifier: Apache-2.0
// What a pipeline stage holds in flight at each instruction of its program, reduced to the few
// states among which its memory peak lies, whatever a chunk's activations weigh.
//
// A micro-batch's activations of a chunk are held whole from the start of its forward to the end of
// `backward` or `backward_input`; where the backward pass is split, what the weight gradients need
// stays until the end of `backward_weight` (Qi 2024, arXiv 2401.10241, table 1). The order of a
// program decides; times do not.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/schedule/traits.h"

namespace meshwright {

// Micro-batches of one chunk whose activations stand in memory.
struct HeldMicroBatches {
  std::int32_t whole = 0;
  std::int32_t weight_only = 0;  // the input gradient is done, the weight gradient is deferred
  bool operator==(const HeldMicroBatches&) const = default;
};

struct RunningPass {
  Pass pass = Pass::forward;
  std::int32_t chunk = 0;  // chunk of this stage, 0..v-1
  bool operator==(const RunningPass&) const = default;
};

struct InFlightState {
  RunningPass running;
  std::optional<RunningPass> beside;   // a forward and a backward together (Instruction::with_next)
  std::vector<HeldMicroBatches> held;  // by chunk of the stage; the running ones count
  // The two take turns in each layer (Megatron-LM, overlap_moe_expert_parallel_comm): the forward
  // keeps a layer when the backward gives one up. As the pair begins and as it ends `held` counts
  // `running` alone, and `beside` has a layer at most.
  bool in_turns = false;
};

// Changes of state when an instruction begins and ends. `held` is by chunk of the stage.
void begin_pass(std::vector<HeldMicroBatches>& held, const Instruction& instruction);
void end_pass(std::vector<HeldMicroBatches>& held, const Instruction& instruction);

// The states of one program, less those that others with the same running work cover: one that
// holds at least as much of everything, or lies on the line between two others.
// `in_turns`: passes that run together take turns in each layer.
std::vector<InFlightState> program_states(const StageProgram& program, int chunks,
                                          bool in_turns = false);

// The states where `sizes[g]` neighbouring chunks weigh the same and are counted together as g:
// few of them are left.
std::vector<InFlightState> grouped_states(const std::vector<InFlightState>& states,
                                          std::span<const int> sizes);

// Micro-batches after which a program only repeats itself: its states are those of all beyond.
int representative_micro_batches(PipelineSchedule schedule, int stages, int micro_batches);

// The same for a schedule's stage. Programs repeat once they are full, so that few micro-batches
// stand for many: the cost depends on stages and chunks alone.
std::vector<InFlightState> in_flight_states(PipelineSchedule schedule, PipelineSizes sizes,
                                            int stage);

}  // namespace meshwright
