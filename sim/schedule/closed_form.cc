// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

// One stage's seconds a micro-batch, the transfers that it waits for included.
struct StageTimes {
  double forward = 0.0, backward = 0.0;
  [[nodiscard]] double both() const { return forward + backward; }
};

// Of stage `s`, which lies in `load`: the last stage sends nothing forward, the first nothing back.
StageTimes with_sends(const StageLoad& load, int s, const PipelineLoad& pipeline) {
  StageTimes t{load.forward.value(), load.backward.value()};
  if (s + 1 < pipeline.num_stages) t.forward += pipeline.send.value();
  if (s > 0) t.backward += pipeline.send.value();
  return t;
}

// The stages that a micro-batch has passed: their times together, and the slowest of them.
struct Passed {
  StageTimes sum, slowest;
  void add(const StageTimes& t) {
    sum = {sum.forward + t.forward, sum.backward + t.backward};
    slowest = {std::max(slowest.forward, t.forward), std::max(slowest.backward, t.backward)};
  }
};

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

// The longest path that alternates at one stage k, from its first backward, which waits for its
// warm-up and for the stages behind it, to its last forward, after which the mirror image follows.
double one_f_one_b_total(const PipelineLoad& pipeline, int micro_batches) {
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
  return longest;
}

double gpipe_total(const PipelineLoad& pipeline, int micro_batches) {
  Passed passed;
  int k = 0;
  for (const StageLoad& load : pipeline.stages) {
    for (int i = 0; i < load.count; ++i, ++k) {
      passed.add(with_sends(load, k, pipeline));
    }
  }
  return passed.sum.both() + (micro_batches - 1) * passed.slowest.both();
}

// Transfers that stage `stage` makes for one micro-batch through each of its chunks.
int sends(PipelineSchedule schedule, int stage, int stages, int chunks) {
  const bool last = stage + 1 == stages;
  const int all = 2 * chunks;
  if (stages == 1) return 0;
  // The fold turns at the last stage: its first chunk sends only back, its second only forward.
  if (schedule == PipelineSchedule::zb_v) return last ? 2 : stage == 0 ? 2 : all;
  // A forward and a backward of opposite directions leave together.
  if (schedule == PipelineSchedule::dualpipe) return 2;
  return all - (stage == 0 ? 1 : 0) - (last ? 1 : 0);
}

// The most of a run's stages: its ends and any in between.
int most_sends(PipelineSchedule schedule, int first, int count, const PipelineLoad& pipeline) {
  const auto of = [&](int s) { return sends(schedule, s, pipeline.num_stages, pipeline.chunks); };
  const int ends = std::max(of(first), of(first + count - 1));
  return count > 2 ? std::max(ends, of(first + 1)) : ends;
}

double busiest_and_bubble(PipelineSchedule schedule, const PipelineLoad& pipeline,
                          int micro_batches) {
  // DualPipe sends each micro-batch through one of a stage's two chunks only.
  const double passes =
      schedule == PipelineSchedule::dualpipe ? micro_batches / 2.0 : micro_batches;
  double busiest = 0.0;
  int first = 0;
  for (const StageLoad& load : pipeline.stages) {
    const double send = pipeline.send.value() * most_sends(schedule, first, load.count, pipeline);
    busiest = std::max(busiest, passes * ((load.forward + load.backward).value() + send));
    first += load.count;
  }
  ChunkTimes average = pipeline.average;
  average.forward += pipeline.send;
  average.backward_input += pipeline.send;
  return busiest +
         closed_form_bubble(schedule, pipeline.num_stages, pipeline.chunks, average).value();
}

}  // namespace

Seconds closed_form_bubble(PipelineSchedule schedule, int stages, int /*chunks*/,
                           const ChunkTimes& times) {
  const double p = stages;
  const Seconds f = times.forward;
  const Seconds b = times.backward_input;
  const Seconds w = times.backward_weight;
  switch (schedule) {
    case PipelineSchedule::gpipe:
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::interleaved:
      break;
    case PipelineSchedule::zb_h1:
      return (p - 1) * (b + std::max(f - w, Seconds{}));
    case PipelineSchedule::zb_h2:
      return (p - 1) * std::max({f + b - 2 * w, b - f, Seconds{}});
    case PipelineSchedule::zb_v:
      return 2 * (p - 1) * std::max(b - w, Seconds{});
    case PipelineSchedule::dualpipe:
      return (p / 2 - 1) * (f + std::max(f, b) + std::max(b - w, Seconds{}));
  }
  return (p - 1) * (f + b + w);
}

Seconds closed_form_total(PipelineSchedule schedule, const PipelineLoad& load, int micro_batches) {
  if (schedule == PipelineSchedule::gpipe) return seconds(gpipe_total(load, micro_batches));
  if (schedule == PipelineSchedule::one_f_one_b) {
    return seconds(one_f_one_b_total(load, micro_batches));
  }
  return seconds(busiest_and_bubble(schedule, load, micro_batches));
}

Seconds closed_form_total(PipelineSchedule schedule, const PipelineTimes& times,
                          int micro_batches) {
  std::vector<StageLoad> stages;
  ChunkTimes sum;
  for (const std::vector<ChunkTimes>& chunks : times.stages) {
    StageLoad load;
    for (const ChunkTimes& chunk : chunks) {
      load.forward += chunk.forward;
      load.backward += chunk.backward_input + chunk.backward_weight;
      sum.forward += chunk.forward;
      sum.backward_input += chunk.backward_input;
      sum.backward_weight += chunk.backward_weight;
    }
    stages.push_back(load);
  }
  const auto chunks = times.stages.front().size();
  const auto count = static_cast<double>(times.stages.size() * chunks);
  const ChunkTimes average{sum.forward / count, sum.backward_input / count,
                           sum.backward_weight / count};
  return closed_form_total(
      schedule,
      {stages, static_cast<int>(stages.size()), static_cast<int>(chunks), average, times.send},
      micro_batches);
}

double closed_form_peak_activations(PipelineSchedule schedule, int stages, int chunks,
                                    int micro_batches, int stage) {
  const int all = micro_batches * chunks;
  const int later = stages - 1 - stage;
  switch (schedule) {
    case PipelineSchedule::gpipe:
      break;
    case PipelineSchedule::one_f_one_b:
      return std::min(all, later + 1);
    case PipelineSchedule::interleaved:
      return std::min(all, 2 * later + (chunks - 1) * stages + 1);
    case PipelineSchedule::zb_h1:
      return std::min(all, stages);
    case PipelineSchedule::zb_h2:
      return std::min(all, 2 * stages - 1);
    case PipelineSchedule::zb_v:
      return std::min(all, 2 * stages);
    case PipelineSchedule::dualpipe:
      return stages + 1;
  }
  return all;
}

}  // namespace meshwright
