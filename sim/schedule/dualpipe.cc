// SPDX-License-Identifier: Apache-2.0
// DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1): micro-batches enter at both ends of the
// pipeline, and each stage holds two chunks, so that there are two copies of the model in all.
#include <algorithm>

#include "sim/schedule/dual_program.h"
#include "sim/schedule/parts.h"

namespace meshwright {
namespace {

DualStage dual_stage(const PipelineSizes& sizes, int stage) {
  const int half = sizes.micro_batches / 2;
  const int depth = std::min(stage, sizes.stages - 1 - stage);
  return {.depth = depth,
          .inner = sizes.stages / 2 - 1 - depth,
          .rounds = half - sizes.stages + depth + 1,
          .near_chunk = stage < sizes.stages / 2 ? 0 : 1,
          .first_micro_batch = {0, half}};
}

StageProgram dualpipe_program(const PipelineSizes& sizes, int stage) {
  return dual_program(dual_stage(sizes, stage));
}

// At an end of the pipeline the near chunk is the model's first and the far one its last.
int dualpipe_sends_of_step(const PipelineSizes& sizes, int stage) {
  const DualStage dual = dual_stage(sizes, stage);
  const bool inside = dual.depth > 0;
  return dual_sends(dual, sizes.micro_batches / 2,
                    {.near_backward = inside, .far_forward = inside});
}

Seconds dualpipe_bubble(int stages, const PassTimes& times) {
  return dual_bubble(stages / 2 - 1, times);
}

// A forward and a backward of opposite directions leave together.
int dualpipe_sends(int /*stage*/, int /*stages*/, int /*chunks*/) { return 2; }

int dualpipe_peak(const PipelineSizes& sizes, int /*stage*/) { return sizes.stages + 1; }

}  // namespace

extern constinit const ScheduleTraits dualpipe_traits{
    .schedule = PipelineSchedule::dualpipe,
    .placement = ChunkPlacement::mirrored,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .fewest_stages = 2,
    .stages_multiple_of = 2,
    .fewest_micro_batches = {.per_stage = 2, .more = 0},
    .micro_batches_multiple_of = 2,
    .splits_backward = true,
    .pairs_passes = true,
    .fullest_at_an_end = false,
    .program = dualpipe_program,
    .bubble = dualpipe_bubble,
    .total = busiest_and_bubble,
    .sends = dualpipe_sends,
    .paired_sends = dualpipe_sends_of_step,
    .peak = dualpipe_peak,
    // Units are two chunks: dual_program's forward passes that run alone on the first stage.
    .unpaired = [](int stages) { return (1.5 * stages - 1.0) / 2.0; }};

}  // namespace meshwright
