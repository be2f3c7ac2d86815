// SPDX-License-Identifier: Apache-2.0
// 1F1B (PipeDream-Flush, Narayanan 2021, arXiv 2104.04473): after its warm-up a stage runs one
// forward and one backward in turn, so that it holds no more micro-batches than stages follow it.
#include <algorithm>
#include <array>
#include <vector>

#include "sim/schedule/parts.h"

namespace meshwright {
namespace {

StageProgram one_f_one_b_program(const PipelineSizes& sizes, int stage) {
  return alternating_program(sizes, sizes.stages - stage - 1);
}

struct OneFOneBStage {
  StageTimes times;
  // End of the last forward that runs here before the first backward. Run backwards in time, with
  // forward and backward exchanged, 1F1B is 1F1B again: the same sum gives the last backwards'
  // share.
  StageTimes ramp;
};

// Enough for most pipelines without asking for memory.
constexpr int kStagesAtHand = 128;

void fill_ramps(OneFOneBStage* stages, const PipelineLoad& pipeline, int micro_batches) {
  Passed passed;
  int k = 0;
  for (const StageLoad& load : pipeline.stages) {
    for (int i = 0; i < load.count; ++i, ++k) {
      const StageTimes t = with_sends(load, k, pipeline);
      passed.add(t);
      const int again = std::min(micro_batches, pipeline.num_stages - k) - 1;
      stages[k] = {t,
                   {passed.sum.forward + again * passed.slowest.forward,
                    passed.sum.backward + again * passed.slowest.backward}};
    }
  }
}

// Longest path that alternates at one stage k. It goes from the stage's first backward pass, which
// waits for its warm-up and for the later stages, to its last forward pass; the mirror image
// follows. O(p); equal to the simulation for any times.
Seconds one_f_one_b_total(const ScheduleTraits& /*schedule*/, const PipelineLoad& pipeline,
                          int micro_batches) {
  std::array<OneFOneBStage, kStagesAtHand> at_hand;
  std::vector<OneFOneBStage> more;
  OneFOneBStage* stages = at_hand.data();
  if (pipeline.num_stages > kStagesAtHand) {
    more.resize(static_cast<std::size_t>(pipeline.num_stages));
    stages = more.data();
  }
  fill_ramps(stages, pipeline, micro_batches);
  double head = 0.0;  // start of stage k's first backward
  double tail = 0.0;  // from the end of its last forward to the end of the step
  double longest = 0.0;
  for (int k = pipeline.num_stages; k-- > 0;) {
    const bool last = k + 1 == pipeline.num_stages;
    const StageTimes ramp = stages[k].ramp;
    head = std::max(ramp.forward, last ? 0.0 : head + stages[k + 1].times.backward);
    tail = std::max(ramp.backward, last ? 0.0 : tail + stages[k + 1].times.forward);
    const int alternations = micro_batches - (pipeline.num_stages - k);
    const double through = alternations > 0 ? head + alternations * stages[k].times.both() + tail
                                            : std::max(ramp.forward + tail, head + ramp.backward);
    longest = std::max(longest, through);
  }
  return seconds(longest);
}

int one_f_one_b_peak(const PipelineSizes& sizes, int stage) {
  return std::min(sizes.micro_batches * sizes.chunks, sizes.stages - stage);
}

}  // namespace

extern constinit const ScheduleTraits one_f_one_b_traits{.schedule = PipelineSchedule::one_f_one_b,
                                                         .may_overlap_sends = false,
                                                         .searched_by_default = true,
                                                         .program = one_f_one_b_program,
                                                         .bubble = unsplit_bubble,
                                                         .total = one_f_one_b_total,
                                                         .sends = sends_of_a_line,
                                                         .peak = one_f_one_b_peak};

}  // namespace meshwright
