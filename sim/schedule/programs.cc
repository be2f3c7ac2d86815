// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "sim/base/error.h"
#include "sim/schedule/schedule.h"

namespace meshwright {

std::vector<StageProgram> pipeline_programs(PipelineSchedule schedule, const PipelineSizes& sizes) {
  invariant(sizes.stages > 0 && sizes.micro_batches > 0 && sizes.chunks > 0,
            "a pipeline schedule without work");
  std::vector<StageProgram> programs;
  programs.reserve(static_cast<std::size_t>(sizes.stages));
  for (int stage = 0; stage < sizes.stages; ++stage) {
    programs.push_back(traits(schedule).program(sizes, stage));
  }
  return programs;
}

std::vector<int> chunk_gathers(PipelineSchedule schedule, const PipelineSizes& sizes, int stage) {
  const auto chunks = static_cast<std::size_t>(sizes.chunks);
  std::vector<int> gathers(chunks, 1);
  if (sizes.chunks <= kGatheredChunks) return gathers;
  const StageProgram program = traits(schedule).program(sizes, stage);
  std::vector<bool> gathered(chunks, false);
  gathers.assign(chunks, 0);
  // Chunks of the next instructions, the nearest first, from the end of the program.
  std::vector<std::vector<int>> ahead(program.size());
  for (std::size_t i = program.size(); i-- > 0;) {
    ahead[i] = {program[i].chunk};
    if (i + 1 == program.size()) continue;
    for (const int chunk : ahead[i + 1]) {
      if (chunk != program[i].chunk && ahead[i].size() < kGatheredChunks) ahead[i].push_back(chunk);
    }
  }
  for (const std::vector<int>& near : ahead) {
    for (std::size_t c = 0; c < chunks; ++c) {
      const bool needed = std::find(near.begin(), near.end(), static_cast<int>(c)) != near.end();
      if (needed && !gathered[c]) ++gathers[c];
      gathered[c] = needed;
    }
  }
  return gathers;
}

StageChunk stage_chunk(PipelineSchedule schedule, int stages, int model_chunk) {
  const bool returns = traits(schedule).placement != ChunkPlacement::in_turn;
  const int chunk = model_chunk / stages;
  const int position = model_chunk % stages;
  return {returns && chunk % 2 == 1 ? stages - 1 - position : position, chunk};
}

std::vector<ChunkPlace> chunk_places(PipelineSchedule schedule, int stages, int chunks) {
  const int stream = traits(schedule).mirrored() ? stages : stages * chunks;
  const auto stage_of = [&](int c) { return stage_chunk(schedule, stages, c).stage; };
  std::vector<ChunkPlace> places(static_cast<std::size_t>(stages) *
                                 static_cast<std::size_t>(chunks));
  for (int c = 0; c < stages * chunks; ++c) {
    const StageChunk home = stage_chunk(schedule, stages, c);
    places[static_cast<std::size_t>(home.stage) * static_cast<std::size_t>(chunks) +
           static_cast<std::size_t>(home.chunk)] = {
        c, c % stream == 0 ? kNoStage : stage_of(c - 1),
        c % stream == stream - 1 ? kNoStage : stage_of(c + 1)};
  }
  return places;
}

}  // namespace meshwright
