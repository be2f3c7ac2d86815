// SPDX-License-Identifier: Apache-2.0
// DualPipeV (deepseek-ai/DualPipe, dualpipev.py): DualPipe cut in half. The stages that hold the
// same two chunks become one, so that half as many hold the model once, as a V; bubble and
// activations stay.
#include <algorithm>

#include "sim/schedule/dual_program.h"
#include "sim/schedule/parts.h"

namespace meshwright {
namespace {

DualStage v_stage(const PipelineSizes& sizes, int stage) {
  return {.depth = stage,
          .inner = sizes.stages - 1 - stage,
          .rounds = sizes.micro_batches - 2 * sizes.stages + stage + 1};
}

StageProgram dualpipe_v_program(const PipelineSizes& sizes, int stage) {
  return dual_program(v_stage(sizes, stage));
}

// The first stage holds the model's ends; at the last one the V turns.
int dualpipe_v_sends_of_step(const PipelineSizes& sizes, int stage) {
  const bool below_first = stage > 0;
  const bool above_last = stage + 1 < sizes.stages;
  return dual_sends(v_stage(sizes, stage), sizes.micro_batches,
                    {.near_forward = above_last,
                     .near_backward = below_first,
                     .far_forward = below_first,
                     .far_backward = above_last});
}

Seconds dualpipe_v_bubble(int stages, const PassTimes& times) {
  return dual_bubble(stages - 1, times);
}

// The first stage holds embedding and head. Where it has that much more to do than the others, it
// never waits for them; else its work is about the average one's, and each stage has its bubble.
Seconds dualpipe_v_total(const ScheduleTraits& schedule, const PipelineLoad& load,
                         int micro_batches) {
  const StagesWork work = stages_work(schedule, load, micro_batches);
  return seconds(
      std::max(work.busiest, work.sum / load.num_stages + average_bubble(schedule, load)));
}

// The forward of a chunk and the backward of the other leave together; at the model's ends, and
// where the V turns, one of the two pairs stays.
int dualpipe_v_sends(int stage, int stages, int /*chunks*/) {
  return stage == 0 || stage + 1 == stages ? 1 : 2;
}

int dualpipe_v_peak(const PipelineSizes& sizes, int /*stage*/) { return 2 * sizes.stages + 1; }

}  // namespace

extern constinit const ScheduleTraits dualpipe_v_traits{
    .schedule = PipelineSchedule::dualpipe_v,
    .placement = ChunkPlacement::folded,
    .fewest_chunks = 2,
    .most_chunks = 2,
    .fewest_stages = 2,
    .fewest_micro_batches = {.per_stage = 2, .more = 0},
    .splits_backward = true,
    .pairs_passes = true,
    .fullest_at_an_end = false,
    .program = dualpipe_v_program,
    .bubble = dualpipe_v_bubble,
    .total = dualpipe_v_total,
    .sends = dualpipe_v_sends,
    .paired_sends = dualpipe_v_sends_of_step,
    .peak = dualpipe_v_peak,
    .unpaired = [](int stages) { return (3.0 * stages - 1.0) / 2.0; }};

}  // namespace meshwright
