// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/base/error.h"
#include "sim/schedule/dualpipe.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/zero_bubble.h"

namespace meshwright {
namespace {

// Runs `warmup` forwards, then one forward and one backward in turn, then the backwards left.
StageProgram alternate(const std::vector<Instruction>& forwards,
                       const std::vector<Instruction>& backwards, std::size_t warmup) {
  StageProgram program;
  program.reserve(forwards.size() + backwards.size());
  warmup = std::min(warmup, forwards.size());
  const auto first = forwards.begin() + static_cast<std::ptrdiff_t>(warmup);
  program.insert(program.end(), forwards.begin(), first);
  std::size_t done = 0;
  for (auto forward = first; forward != forwards.end(); ++forward) {
    program.push_back(*forward);
    program.push_back(backwards[done++]);
  }
  program.insert(program.end(), backwards.begin() + static_cast<std::ptrdiff_t>(done),
                 backwards.end());
  return program;
}

// Megatron-LM's order: groups of p micro-batches go through all chunks of a stage before the next
// group starts (Narayanan 2021, figure 4).
std::vector<Instruction> in_groups(Work work, int stages, int micro_batches, int chunks) {
  std::vector<Instruction> order;
  order.reserve(static_cast<std::size_t>(micro_batches) * static_cast<std::size_t>(chunks));
  for (int group = 0; group < micro_batches; group += stages) {
    const int end = std::min(group + stages, micro_batches);
    for (int c = 0; c < chunks; ++c) {
      const int chunk = work == Work::forward ? c : chunks - 1 - c;
      for (int i = group; i < end; ++i) order.push_back({work, false, i, chunk});
    }
  }
  return order;
}

StageProgram unsplit_program(PipelineSchedule schedule, int stages, int stage, int micro_batches,
                             int chunks) {
  const auto forwards = in_groups(Work::forward, stages, micro_batches, chunks);
  const auto backwards = in_groups(Work::backward, stages, micro_batches, chunks);
  if (schedule == PipelineSchedule::gpipe) return alternate(forwards, backwards, forwards.size());
  // Megatron-LM schedules.py, get_pp_rank_microbatches.
  const int later = stages - stage - 1;
  const int warmup =
      schedule == PipelineSchedule::one_f_one_b ? later : 2 * later + (chunks - 1) * stages;
  return alternate(forwards, backwards, static_cast<std::size_t>(warmup));
}

}  // namespace

StageProgram stage_program(PipelineSchedule schedule, int stages, int stage, int micro_batches,
                           int chunks) {
  switch (schedule) {
    case PipelineSchedule::zb_h1:
      return split_program(zb_h1_shape(stages, stage), micro_batches);
    case PipelineSchedule::zb_h2:
      return split_program(zb_h2_shape(stages, stage), micro_batches);
    case PipelineSchedule::zb_v:
      return zb_v_program(stages, stage, micro_batches);
    case PipelineSchedule::dualpipe:
      return dualpipe_program(stages, stage, micro_batches);
    case PipelineSchedule::gpipe:
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::interleaved:
      break;
  }
  return unsplit_program(schedule, stages, stage, micro_batches, chunks);
}

std::vector<StageProgram> pipeline_programs(PipelineSchedule schedule, int stages,
                                            int micro_batches, int chunks) {
  invariant(stages > 0 && micro_batches > 0 && chunks > 0, "a pipeline schedule without work");
  std::vector<StageProgram> programs;
  programs.reserve(static_cast<std::size_t>(stages));
  for (int stage = 0; stage < stages; ++stage) {
    programs.push_back(stage_program(schedule, stages, stage, micro_batches, chunks));
  }
  return programs;
}

ChunkHome chunk_home(PipelineSchedule schedule, int stages, int /*chunks*/, int model_chunk) {
  const bool folded = schedule == PipelineSchedule::zb_v || schedule == PipelineSchedule::dualpipe;
  const int chunk = model_chunk / stages;
  const int position = model_chunk % stages;
  return {folded && chunk == 1 ? stages - 1 - position : position, chunk};
}

std::vector<ChunkPlace> chunk_places(PipelineSchedule schedule, int stages, int chunks) {
  const int stream = schedule == PipelineSchedule::dualpipe ? stages : stages * chunks;
  const auto stage_of = [&](int c) { return chunk_home(schedule, stages, chunks, c).stage; };
  std::vector<ChunkPlace> places(static_cast<std::size_t>(stages) *
                                 static_cast<std::size_t>(chunks));
  for (int c = 0; c < stages * chunks; ++c) {
    const ChunkHome home = chunk_home(schedule, stages, chunks, c);
    places[static_cast<std::size_t>(home.stage) * static_cast<std::size_t>(chunks) +
           static_cast<std::size_t>(home.chunk)] = {
        c, c % stream == 0 ? kNoStage : stage_of(c - 1),
        c % stream == stream - 1 ? kNoStage : stage_of(c + 1)};
  }
  return places;
}

}  // namespace meshwright
