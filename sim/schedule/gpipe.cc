// SPDX-License-Identifier: Apache-2.0
// GPipe (arXiv 1811.06965): all forwards, then all backwards.
#include "sim/schedule/parts.h"

namespace meshwright {
namespace {

StageProgram gpipe_program(const PipelineSizes& sizes, int /*stage*/) {
  return alternating_program(sizes, sizes.micro_batches * sizes.chunks);
}

// sum F + (m-1) max F + sum B + (m-1) max B: exact.
Seconds gpipe_total(const ScheduleTraits& /*schedule*/, const PipelineLoad& pipeline,
                    int micro_batches) {
  Passed passed;
  int k = 0;
  for (const StageLoad& load : pipeline.stages) {
    for (int i = 0; i < load.count; ++i, ++k) passed.add(with_sends(load, k, pipeline));
  }
  return seconds(passed.sum.both() + (micro_batches - 1) * passed.slowest.both());
}

int gpipe_peak(const PipelineSizes& sizes, int /*stage*/) {
  return sizes.micro_batches * sizes.chunks;
}

}  // namespace

extern constinit const ScheduleTraits gpipe_traits{.schedule = PipelineSchedule::gpipe,
                                                   .holds_all_micro_batches = true,
                                                   .program = gpipe_program,
                                                   .bubble = unsplit_bubble,
                                                   .total = gpipe_total,
                                                   .sends = sends_of_a_line,
                                                   .peak = gpipe_peak};

}  // namespace meshwright
