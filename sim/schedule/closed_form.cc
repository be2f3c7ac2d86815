// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright {
namespace {

// One stage's seconds a micro-batch, the transfers that it waits for included.
struct StageTimes {
  double forward = 0.0, backward = 0.0;
  [[nodiscard]] double both() const { return forward + backward; }
};

StageTimes stage_times(const PipelineTimes& times, std::size_t stage) {
  StageTimes sum;
  for (const ChunkTimes& chunk : times.stages[stage]) {
    sum.forward += chunk.forward.value();
    sum.backward += (chunk.backward_input + chunk.backward_weight).value();
  }
  return sum;
}

// The same for one chunk a stage: the last stage sends nothing forward, the first nothing back.
StageTimes single_chunk_times(const PipelineTimes& times, std::size_t stage) {
  StageTimes t = stage_times(times, stage);
  if (stage + 1 < times.stages.size()) t.forward += times.send.value();
  if (stage > 0) t.backward += times.send.value();
  return t;
}

// Per stage the end of the last forward that 1F1B runs there before the first backward. Run
// backwards in time, with forward and backward exchanged, 1F1B is 1F1B again: the same function
// gives the last backwards' share.
std::vector<double> ramps(const std::vector<StageTimes>& stages, double StageTimes::*work,
                          int micro_batches) {
  std::vector<double> result(stages.size());
  double sum = 0.0;
  double slowest = 0.0;
  for (std::size_t k = 0; k < stages.size(); ++k) {
    sum += stages[k].*work;
    slowest = std::max(slowest, stages[k].*work);
    const int before_return = std::min(micro_batches, static_cast<int>(stages.size() - k));
    result[k] = sum + (before_return - 1) * slowest;
  }
  return result;
}

// The longest path that alternates at one stage k, from its first backward, which waits for its
// warm-up and for the stages behind it, to its last forward, after which the mirror image follows.
double one_f_one_b_total(const PipelineTimes& times, int micro_batches) {
  std::vector<StageTimes> stages;
  stages.reserve(times.stages.size());
  for (std::size_t s = 0; s < times.stages.size(); ++s) {
    stages.push_back(single_chunk_times(times, s));
  }
  const auto forward = ramps(stages, &StageTimes::forward, micro_batches);
  const auto backward = ramps(stages, &StageTimes::backward, micro_batches);
  double head = 0.0;  // start of stage k's first backward
  double tail = 0.0;  // from the end of its last forward to the end of the step
  double longest = 0.0;
  for (std::size_t k = stages.size(); k-- > 0;) {
    const bool last = k + 1 == stages.size();
    head = std::max(forward[k], last ? 0.0 : head + stages[k + 1].backward);
    tail = std::max(backward[k], last ? 0.0 : tail + stages[k + 1].forward);
    const int alternations = micro_batches - static_cast<int>(stages.size() - k);
    const double through = alternations > 0 ? head + alternations * stages[k].both() + tail
                                            : std::max(forward[k] + tail, head + backward[k]);
    longest = std::max(longest, through);
  }
  return longest;
}

double gpipe_total(const PipelineTimes& times, int micro_batches) {
  StageTimes sum, slowest;
  for (std::size_t s = 0; s < times.stages.size(); ++s) {
    const StageTimes t = single_chunk_times(times, s);
    sum = {sum.forward + t.forward, sum.backward + t.backward};
    slowest = {std::max(slowest.forward, t.forward), std::max(slowest.backward, t.backward)};
  }
  return sum.both() + (micro_batches - 1) * slowest.both();
}

// Transfers that stage `stage` makes for one micro-batch through each of its chunks.
int sends(PipelineSchedule schedule, std::size_t stage, std::size_t stages, std::size_t chunks) {
  const bool last = stage + 1 == stages;
  const int all = 2 * static_cast<int>(chunks);
  if (stages == 1) return 0;
  // The fold turns at the last stage: its first chunk sends only back, its second only forward.
  if (schedule == PipelineSchedule::zb_v) return last ? 2 : stage == 0 ? 2 : all;
  // A forward and a backward of opposite directions leave together.
  if (schedule == PipelineSchedule::dualpipe) return 2;
  return all - (stage == 0 ? 1 : 0) - (last ? 1 : 0);
}

double busiest_and_bubble(PipelineSchedule schedule, const PipelineTimes& times,
                          int micro_batches) {
  const std::size_t stages = times.stages.size();
  const std::size_t chunks = times.stages.front().size();
  // DualPipe sends each micro-batch through one of a stage's two chunks only.
  const double passes =
      schedule == PipelineSchedule::dualpipe ? micro_batches / 2.0 : micro_batches;
  double busiest = 0.0;
  ChunkTimes average;
  for (std::size_t s = 0; s < stages; ++s) {
    const double send = times.send.value() * sends(schedule, s, stages, chunks);
    busiest = std::max(busiest, passes * (stage_times(times, s).both() + send));
    for (const ChunkTimes& chunk : times.stages[s]) {
      average.forward += chunk.forward + times.send;
      average.backward_input += chunk.backward_input + times.send;
      average.backward_weight += chunk.backward_weight;
    }
  }
  const double count = static_cast<double>(stages * chunks);
  average.forward /= count;
  average.backward_input /= count;
  average.backward_weight /= count;
  return busiest +
         closed_form_bubble(schedule, static_cast<int>(stages), static_cast<int>(chunks), average)
             .value();
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

Seconds closed_form_total(PipelineSchedule schedule, const PipelineTimes& times,
                          int micro_batches) {
  if (schedule == PipelineSchedule::gpipe) return seconds(gpipe_total(times, micro_batches));
  if (schedule == PipelineSchedule::one_f_one_b) {
    return seconds(one_f_one_b_total(times, micro_batches));
  }
  return seconds(busiest_and_bubble(schedule, times, micro_batches));
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
