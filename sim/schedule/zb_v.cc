// SPDX-License-Identifier: Apache-2.0
// ZB-V (Qi 2024, arXiv 2405.15362): two chunks a stage, the second running back from the last stage
// to the first.
#include <algorithm>

#include "sim/schedule/parts.h"
#include "sim/schedule/split_emitter.h"

namespace meshwright {
namespace {

StageProgram zb_v_program(const PipelineSizes& sizes, int stage) {
  const int behind = sizes.stages - stage;  // this one included
  const int padded = std::max(sizes.micro_batches, 2 * sizes.stages - 1);
  SplitEmitter emit(sizes.micro_batches);
  for (int i = 0; i < 2 * behind - 1; ++i) emit.forward(0);
  for (int i = 0; i < stage; ++i) {
    emit.forward(1);
    emit.forward(0);
  }
  for (int i = 0; i < behind; ++i) {
    emit.forward(1);
    emit.input_and_weight(1);
  }
  while (emit.forwards(1) < padded) {
    if (emit.forwards(0) < padded) emit.forward(0);
    emit.input_and_weight(0);
    emit.forward(1);
    emit.input_and_weight(1);
  }
  for (int i = 0; i < stage; ++i) {
    emit.input(0);
    emit.input(1);
  }
  for (int i = 0; i < behind; ++i) emit.input_and_weight(0);
  emit.remaining_weights(1);
  emit.remaining_weights(0);
  return emit.take();
}

// From m >= 2p-1 on, for W <= F <= B; published for F = B = W: 0.
Seconds zb_v_bubble(int stages, const PassTimes& t) {
  return 2 * (stages - 1.0) * std::max(t.backward_input - t.backward_weight, Seconds{});
}

// The fold turns at the last stage: its first chunk sends only back, its second only forward.
int zb_v_sends(int stage, int stages, int chunks) {
  return stage == 0 || stage + 1 == stages ? 2 : 2 * chunks;
}

int zb_v_peak(const PipelineSizes& sizes, int /*stage*/) { return 2 * sizes.stages; }

}  // namespace

extern constinit const ScheduleTraits zb_v_traits{
    .schedule = PipelineSchedule::zb_v,
    .placement = ChunkPlacement::folded,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .fewest_stages = 2,
    .fewest_micro_batches = {.per_stage = 2, .more = 0},
    .splits_backward = true,
    .program = zb_v_program,
    .bubble = zb_v_bubble,
    .total = busiest_and_bubble,
    .sends = zb_v_sends,
    .peak = zb_v_peak};

}  // namespace meshwright
