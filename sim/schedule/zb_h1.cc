// SPDX-License-Identifier: Apache-2.0
// ZB-H1, the hand-made schedule of Qi 2024 (arXiv 2401.10241, section 2) that holds no more than
// 1F1B's first stage.
#include <algorithm>

#include "sim/schedule/parts.h"
#include "sim/schedule/split_emitter.h"

namespace meshwright {
namespace {

StageProgram zb_h1_program(const PipelineSizes& sizes, int stage) {
  return split_program(sizes.stages - stage, stage, sizes.micro_batches);
}

// Published for W <= F: (p-1)(F+B-W).
Seconds zb_h1_bubble(int stages, const PassTimes& t) {
  return (stages - 1.0) * (t.backward_input + std::max(t.forward - t.backward_weight, Seconds{}));
}

int zb_h1_peak(const PipelineSizes& sizes, int /*stage*/) { return sizes.stages; }

}  // namespace

extern constinit const ScheduleTraits zb_h1_traits{
    .schedule = PipelineSchedule::zb_h1,
    .fewest_stages = 2,
    .fewest_micro_batches = {.per_stage = 1, .more = 0},
    .splits_backward = true,
    .program = zb_h1_program,
    .bubble = zb_h1_bubble,
    .total = busiest_and_bubble,
    .sends = sends_of_a_line,
    .peak = zb_h1_peak};

}  // namespace meshwright
