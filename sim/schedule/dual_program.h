// SPDX-License-Identifier: Apache-2.0
// The order of work that DualPipe and DualPipeV share (deepseek-ai/DualPipe, dualpipe.py and
// dualpipev.py): a stage has two chunks, which micro-batches pass in opposite directions, and a
// forward of one runs together with a backward of the other.
//
// The pair costs F + B + W here, one after the other on the device: what the real overlap hides is
// communication, which the caller leaves out of the times. Every pair is overlapped, which gives
// the published bubble; DeepSeek's code keeps the first one of the middle stages apart, which
// shortens the step by up to B - F, once.
#pragma once

#include <array>

#include "sim/schedule/instruction.h"

namespace meshwright {

struct DualStage {
  int depth = 0;   // stages between this one and the end where micro-batches enter
  int inner = 0;   // stages between this one and the middle, or the turn of the V
  int rounds = 0;  // number of overlapped pairs in the steady state
  // The chunk whose entrance is closer to this stage, and each chunk's first micro-batch.
  int near_chunk = 0;
  std::array<int, 2> first_micro_batch{};
};
StageProgram dual_program(const DualStage& stage);

// Passes of a stage that end in a message to another stage.
struct DualEnds {
  bool near_forward = true, near_backward = true, far_forward = true, far_backward = true;
};
// Messages of a stage's program, where each chunk sees so many micro-batches: a pair sends for both
// of its passes at once.
int dual_sends(const DualStage& stage, int micro_batches_of_chunk, const DualEnds& leaves);

// (F + max(F,B) + max(B-W, 0)) for each stage between an end and the middle; published for
// F, W <= B: F&B + B+W - 3W with F&B = F+B+W, B without W (DeepSeek-V3, arXiv 2412.19437, table 2).
Seconds dual_bubble(int inner_stages, const PassTimes& times);

}  // namespace meshwright
