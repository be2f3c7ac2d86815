// SPDX-License-Identifier: Apache-2.0
#include "sim/schedule/parts.h"

#include <algorithm>

namespace meshwright {
namespace {

std::vector<Instruction> in_groups(Pass pass, const PipelineSizes& sizes) {
  const auto [stages, micro_batches, chunks, pairs] = sizes;
  std::vector<Instruction> order;
  order.reserve(static_cast<std::size_t>(micro_batches) * static_cast<std::size_t>(chunks));
  for (int group = 0; group < micro_batches; group += stages) {
    const int end = std::min(group + stages, micro_batches);
    for (int c = 0; c < chunks; ++c) {
      const int chunk = pass == Pass::forward ? c : chunks - 1 - c;
      for (int i = group; i < end; ++i) order.push_back({pass, false, i, chunk});
    }
  }
  return order;
}

// The most of a run's stages: its ends and any in between.
int most_sends(const ScheduleTraits& schedule, int first, int count, const PipelineLoad& pipeline) {
  if (pipeline.num_stages == 1) return 0;
  const auto of = [&](int s) { return schedule.sends(s, pipeline.num_stages, pipeline.chunks); };
  const int ends = std::max(of(first), of(first + count - 1));
  return count > 2 ? std::max(ends, of(first + 1)) : ends;
}

}  // namespace

StageProgram alternating_program(const PipelineSizes& sizes, int warmup) {
  const auto forwards = in_groups(Pass::forward, sizes);
  const auto backwards = in_groups(Pass::backward, sizes);
  StageProgram program;
  program.reserve(forwards.size() + backwards.size());
  const auto ahead =
      std::min(static_cast<std::ptrdiff_t>(warmup + sizes.more_ahead()), std::ssize(forwards));
  program.insert(program.end(), forwards.begin(), forwards.begin() + ahead);
  auto backward = backwards.begin();
  for (auto forward = forwards.begin() + ahead; forward != forwards.end(); ++forward) {
    program.push_back(*forward);
    program.back().with_next = sizes.pairs_passes;
    program.push_back(*backward++);
  }
  program.insert(program.end(), backward, backwards.end());
  return program;
}

Seconds unsplit_bubble(int stages, const PassTimes& times) {
  return (stages - 1.0) * (times.forward + times.backward_input + times.backward_weight);
}

int sends_of_a_line(int stage, int stages, int chunks) {
  return 2 * chunks - (stage == 0 ? 1 : 0) - (stage + 1 == stages ? 1 : 0);
}

StagesWork stages_work(const ScheduleTraits& schedule, const PipelineLoad& pipeline,
                       int micro_batches) {
  // From both ends, each micro-batch passes only one of a stage's two chunks.
  const double passes = schedule.mirrored() ? micro_batches / 2.0 : micro_batches;
  StagesWork work;
  int first = 0;
  for (const StageLoad& load : pipeline.stages) {
    const int sends = most_sends(schedule, first, load.count, pipeline) + load.more_forward_sends +
                      load.more_backward_sends;
    const double send = pipeline.send.value() * sends;
    const double here = passes * ((load.forward + load.backward).value() + send);
    work.busiest = std::max(work.busiest, here);
    work.sum += here * load.count;
    first += load.count;
  }
  return work;
}

double average_bubble(const ScheduleTraits& schedule, const PipelineLoad& pipeline) {
  PassTimes average = pipeline.average;
  average.forward += pipeline.send;
  average.backward_input += pipeline.send;
  return schedule.bubble(pipeline.num_stages, average).value();
}

Seconds busiest_and_bubble(const ScheduleTraits& schedule, const PipelineLoad& pipeline,
                           int micro_batches) {
  return seconds(stages_work(schedule, pipeline, micro_batches).busiest +
                 average_bubble(schedule, pipeline));
}

StageTimes with_sends(const StageLoad& load, int s, const PipelineLoad& pipeline) {
  StageTimes t{load.forward.value(), load.backward.value()};
  const double send = pipeline.send.value();
  if (s + 1 < pipeline.num_stages) t.forward += send;
  if (s > 0) t.backward += send;
  if (load.more_forward_sends > 0) t.forward += send * load.more_forward_sends;
  if (load.more_backward_sends > 0) t.backward += send * load.more_backward_sends;
  return t;
}

void Passed::add(const StageTimes& t) {
  sum = {sum.forward + t.forward, sum.backward + t.backward};
  slowest = {std::max(slowest.forward, t.forward), std::max(slowest.backward, t.backward)};
}

}  // namespace meshwright
