// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B (Narayanan 2021, arXiv 2104.04473, section 2.2): each stage holds several chunks
// of the model, and a micro-batch goes round through the stages once for each.
#include <algorithm>

#include "sim/schedule/parts.h"

namespace meshwright {
namespace {

// Megatron-LM schedules.py, get_pp_rank_microbatches.
int warmup(const PipelineSizes& sizes, int stage) {
  return 2 * (sizes.stages - stage - 1) + (sizes.chunks - 1) * sizes.stages;
}

StageProgram program(const PipelineSizes& sizes, int stage) {
  return alternating_program(sizes, warmup(sizes, stage));
}

int peak(const PipelineSizes& sizes, int stage) {
  return std::min(sizes.micro_batches * sizes.chunks, warmup(sizes, stage) + 1);
}

}  // namespace

extern constinit const ScheduleTraits interleaved_traits{.schedule = PipelineSchedule::interleaved,
                                                         .fewest_chunks = 2,
                                                         .most_chunks = ScheduleTraits::kAnyNumber,
                                                         .groups_of_stages = true,
                                                         .overlaps_sends = true,
                                                         .searched_by_default = true,
                                                         .program = program,
                                                         .bubble = unsplit_bubble,
                                                         .total = busiest_and_bubble,
                                                         .sends = sends_of_a_line,
                                                         .peak = peak};

}  // namespace meshwright
