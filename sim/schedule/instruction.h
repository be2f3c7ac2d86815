// SPDX-License-Identifier: Apache-2.0
// Instructions of a pipeline stage and their times.
//
// A micro-batch goes forward through chunks 0..p*v-1 and back. An activation is held from the start
// of its forward until `backward` or, where the backward pass is split, `backward_weight` has ended
// (as the zero-bubble papers count).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"

namespace meshwright {

enum class Pass : std::uint8_t {
  forward,
  backward,        // input and weight gradient together
  backward_input,  // zero-bubble schedules split them
  backward_weight,
};

struct Instruction {
  Pass pass = Pass::forward;
  // Runs together with the next instruction of the program (DualPipe's overlapped forward and
  // backward, Megatron-LM's of overlap_moe_expert_parallel_comm): both start when both inputs are
  // there, and end together after the sum of their times.
  bool with_next = false;
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;  // of this stage, 0..v-1
};

using StageProgram = std::vector<Instruction>;

struct PipelineSizes {
  int stages = 1;
  int micro_batches = 1;
  int chunks = 1;  // a stage
  // A forward runs with the backward of another micro-batch, for which one more goes ahead
  // (Megatron-LM, overlap_moe_expert_parallel_comm). DualPipe's programs have pairs anyway.
  bool pairs_passes = false;
  [[nodiscard]] constexpr int more_ahead() const { return pairs_passes ? 1 : 0; }
};

// Seconds of each kind of work for one micro-batch of one chunk.
struct PassTimes {
  Seconds forward;
  Seconds backward_input;   // with recompute
  Seconds backward_weight;  // `backward` takes the sum of both
};

// Stages that repeat stand once: what the closed form of a step's time reads.
struct StageLoad {
  Seconds forward, backward;  // all chunks of a stage, one micro-batch each
  int count = 1;              // neighbouring stages that are alike
  // Beside the one transfer of each chunk, each way (multi-token prediction apart from the loss).
  int more_forward_sends = 0, more_backward_sends = 0;
};
struct ChunkLoad {
  Seconds forward, backward;
  int forward_sends = 1, backward_sends = 1;
};
struct PipelineLoad {
  std::span<const StageLoad> stages;  // first to last
  int num_stages = 1;
  int chunks = 1;     // a stage
  PassTimes average;  // over all chunks of all stages, transfers left out
  Seconds send;       // one transfer to a neighbouring stage; 0 when overlapped
  // The model's chunks in its order, where those of a stage differ; else empty.
  std::span<const ChunkLoad> uneven_chunks = {};
};

}  // namespace meshwright
