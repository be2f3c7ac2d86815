// SPDX-License-Identifier: Apache-2.0
// ZB-H2, the hand-made schedule of Qi 2024 (arXiv 2401.10241, section 2) that holds twice as much
// as 1F1B's first stage and never waits where F = B = W.
#include <algorithm>

#include "sim/schedule/parts.h"
#include "sim/schedule/split_emitter.h"

namespace meshwright {
namespace {

StageProgram zb_h2_program(const PipelineSizes& sizes, int stage) {
  return split_program(2 * (sizes.stages - stage) - 1, 2 * stage, sizes.micro_batches);
}

// From m >= 2p-1 on; published for W <= F: (p-1)(F+B-2W).
Seconds zb_h2_bubble(int stages, const PassTimes& t) {
  const Seconds f = t.forward, b = t.backward_input, w = t.backward_weight;
  return (stages - 1.0) * std::max({f + b - 2 * w, b - f, Seconds{}});
}

int zb_h2_peak(const PipelineSizes& sizes, int /*stage*/) { return 2 * sizes.stages - 1; }

}  // namespace

extern constinit const ScheduleTraits zb_h2_traits{
    .schedule = PipelineSchedule::zb_h2,
    .fewest_stages = 2,
    .fewest_micro_batches = {.per_stage = 2, .more = -1},
    .splits_backward = true,
    .program = zb_h2_program,
    .bubble = zb_h2_bubble,
    .total = busiest_and_bubble,
    .sends = sends_of_a_line,
    .peak = zb_h2_peak};

}  // namespace meshwright
