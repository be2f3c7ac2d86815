// SPDX-License-Identifier: Apache-2.0
// Interleaved 1F1B (Narayanan 2021, arXiv 2104.04473, section 2.2): each stage holds several chunks
// of the model, and a micro-batch goes round through the stages once for each.
#include <algorithm>

#include "sim/schedule/parts.h"
#include "sim/schedule/uneven_chunks.h"

namespace meshwright {
namespace {

// Megatron-LM schedules.py, get_pp_rank_microbatches.
int warmup(const PipelineSizes& sizes, int stage) {
  return 2 * (sizes.stages - stage - 1) + (sizes.chunks - 1) * sizes.stages;
}

StageProgram interleaved_program(const PipelineSizes& sizes, int stage) {
  return alternating_program(sizes, warmup(sizes, stage));
}

int interleaved_peak(const PipelineSizes& sizes, int stage) {
  return std::min(sizes.micro_batches * sizes.chunks, warmup(sizes, stage) + 1);
}

// Exact for stages whose chunks are alike and for chunks of any size, apart from what
// busiest_and_bubble and uneven_chunks.h say.
Seconds interleaved_total(const ScheduleTraits& schedule, const PipelineLoad& pipeline,
                          int micro_batches) {
  if (pipeline.uneven_chunks.empty()) return busiest_and_bubble(schedule, pipeline, micro_batches);
  return uneven_total(pipeline, micro_batches, warmup);
}

}  // namespace

extern constinit const ScheduleTraits interleaved_traits{.schedule = PipelineSchedule::interleaved,
                                                         .fewest_chunks = 2,
                                                         .most_chunks = ScheduleTraits::kAnyNumber,
                                                         .groups_of_stages = true,
                                                         .overlaps_sends = true,
                                                         .searched_by_default = true,
                                                         .program = interleaved_program,
                                                         .bubble = unsplit_bubble,
                                                         .total = interleaved_total,
                                                         .sends = sends_of_a_line,
                                                         .peak = interleaved_peak};

}  // namespace meshwright
