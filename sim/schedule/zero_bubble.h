// SPDX-License-Identifier: Apache-2.0
// Programs of the zero-bubble schedules: the weight gradient is its own instruction, done when
// nothing else can be.
//
// ZB-H1 and ZB-H2 are the hand-made schedules of Qi 2024 (arXiv 2401.10241, section 2); ZB-V is the
// V-shaped one of arXiv 2405.15362: two chunks a stage, the second running back from the last stage
// to the first.
#pragma once

#include "sim/schedule/schedule.h"

namespace meshwright {

// Forwards that stage `stage` runs before its first backward, and by how many micro-batches its
// weight gradients lag behind its input gradients. Their sum is what a stage holds.
struct SplitShape {
  int warmup = 0;
  int weight_lag = 0;
};
SplitShape zb_h1_shape(int stages, int stage);
SplitShape zb_h2_shape(int stages, int stage);

StageProgram split_program(SplitShape shape, int micro_batches);
StageProgram zb_v_program(int stages, int stage, int micro_batches);

}  // namespace meshwright
