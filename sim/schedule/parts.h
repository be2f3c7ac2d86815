// SPDX-License-Identifier: Apache-2.0
// Parts that several schedules share.
#pragma once

#include "sim/schedule/traits.h"

namespace meshwright {

// Runs `warmup` forwards, one more where passes are paired, then one forward and one backward in
// turn, or together, then the backwards left.
// Chunks take their turns in Megatron-LM's order: groups of p micro-batches go through all chunks
// of a stage before the next group starts (Narayanan 2021, 2104.04473, figure 4).
StageProgram alternating_program(const PipelineSizes& sizes, int warmup);

// The bubble of schedules that leave the backward pass whole: (p-1)(F+B+W).
Seconds unsplit_bubble(int stages, const PassTimes& times);

// Forward and backward of every chunk, but for the model's ends.
int sends_of_a_line(int stage, int stages, int chunks);

// Seconds that the stages compute and send in a step, and the bubble of the average chunk.
struct StagesWork {
  double busiest = 0.0, sum = 0.0;
};
StagesWork stages_work(const ScheduleTraits& schedule, const PipelineLoad& pipeline,
                       int micro_batches);
double average_bubble(const ScheduleTraits& schedule, const PipelineLoad& pipeline);

// The busiest stage's work and the bubble of the average chunk: exact for equal stages, an
// approximation otherwise.
Seconds busiest_and_bubble(const ScheduleTraits& schedule, const PipelineLoad& pipeline,
                           int micro_batches);

// One stage's seconds a micro-batch, the transfers that it waits for included.
struct StageTimes {
  double forward = 0.0, backward = 0.0;
  [[nodiscard]] double both() const { return forward + backward; }
};
// Times of stage `s` of `load` with its messages. The last stage sends nothing forward, the first
// nothing backward.
StageTimes with_sends(const StageLoad& load, int s, const PipelineLoad& pipeline);

// The stages that a micro-batch has passed: their times together, and the slowest of them.
struct Passed {
  StageTimes sum, slowest;
  void add(const StageTimes& times);
};

}  // namespace meshwright
