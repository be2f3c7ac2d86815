// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

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

// Forwards that 1F1B runs before the first backward wait from the first result's return: with
// `behind` the seconds from the end of stage k's first forward to the start of its first backward,
// w = p-1-k more forwards fill the gap; the mirror image holds for the last backwards.
double one_f_one_b_through(StageTimes stage, double before, double behind, int later_stages,
                           double micro_batches) {
  const double work = before + micro_batches * stage.both();
  if (micro_batches >= later_stages + 2) {
    return work + std::max(0.0, behind - later_stages * stage.forward) +
           std::max(0.0, behind - later_stages * stage.backward);
  }
  const double filling = (micro_batches - 1) * std::min(stage.forward, stage.backward);
  return work + std::max(0.0, behind - filling);
}

double one_f_one_b_total(const PipelineTimes& times, int micro_batches) {
  const std::size_t stages = times.stages.size();
  StageTimes middle;
  for (std::size_t s = 1; s + 1 < stages; ++s) {
    const StageTimes t = single_chunk_times(times, s);
    middle = {std::max(middle.forward, t.forward), std::max(middle.backward, t.backward)};
  }
  const StageTimes first = single_chunk_times(times, 0);
  const StageTimes last = single_chunk_times(times, stages - 1);
  const auto at = [&](std::size_t s) { return s == 0 ? first : s + 1 == stages ? last : middle; };

  double behind = 0.0;
  for (std::size_t s = 1; s < stages; ++s) behind += at(s).both();
  double before = 0.0;
  double longest = 0.0;
  for (std::size_t s = 0; s < stages; ++s) {
    const int later = static_cast<int>(stages - 1 - s);
    longest = std::max(longest, one_f_one_b_through(at(s), before, behind, later, micro_batches));
    before += at(s).both();
    if (later > 0) behind -= at(s + 1).both();
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
