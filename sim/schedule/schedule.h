// SPDX-License-Identifier: Apache-2.0
// The programs of a pipeline's stages, and one simulator that runs them. Each schedule is defined
// in the file of its name.
#pragma once

#include "sim/schedule/traits.h"

namespace meshwright {

struct PipelineTimes {
  std::vector<std::vector<PassTimes>> stages;  // [stage][chunk]
  // One transfer to a neighbouring stage, during which the sender computes nothing (Megatron-LM
  // without overlap_p2p_comm waits for it); 0 when overlapped.
  Seconds send;
};

struct TimelineEvent {
  Seconds begin, end;
  std::int32_t stage = 0;
  Instruction instruction;
};

struct Timeline {
  std::vector<TimelineEvent> events;  // stage by stage, in time order; empty unless asked for
  // Longest stay of a stage, from its first instruction to its last. For GPipe, 1F1B, interleaved
  // and DualPipe this is the makespan. The zero-bubble schedules end as staggered as they begin,
  // and the next step follows without a common stop (Qi 2401.10241, sections 2.3 and 4).
  Seconds total;
  Seconds makespan;                      // first begin to last end over all stages
  std::vector<Seconds> busy;             // per stage, computing
  std::vector<Seconds> sending;          // per stage
  std::vector<double> peak_activations;  // per stage, in units of one chunk's micro-batch
  [[nodiscard]] Seconds bubble(int stage) const {
    const auto s = static_cast<std::size_t>(stage);
    return total - busy[s] - sending[s];
  }
};

// The program of every stage. Preconditions are the schedule_* rules of sim/rules.
std::vector<StageProgram> pipeline_programs(PipelineSchedule schedule, const PipelineSizes& sizes);

// Times that each chunk of a stage is gathered in a step by PyTorch's pipelines of several chunks:
// the next three chunks of its program stay gathered (torch/distributed/pipelining/schedules.py,
// _add_unshard_reshard, max_active_stages). Once each where a stage has no more.
std::vector<int> chunk_gathers(PipelineSchedule schedule, const PipelineSizes& sizes, int stage);
inline constexpr int kGatheredChunks = 3;

// Runs the programs: each stage in its own order, an instruction starts when its stage is free and
// its input has arrived. Throws std::logic_error if the programs deadlock.
Timeline simulate(PipelineSchedule schedule, const std::vector<StageProgram>& programs,
                  const PipelineTimes& times, bool keep_events);

// The stage that holds the model's chunk number c (0 <= c < p*v), and which of its chunks it is.
// A mirrored pipeline holds the model twice: chunks 0..p-1 are the copy that runs from stage 0 to
// p-1, chunks p..2p-1 the copy that runs from stage p-1 to 0 and takes the second half of the
// micro-batches.
struct StageChunk {
  int stage = 0;  // 0..p-1
  int chunk = 0;  // 0..v-1
};
StageChunk stage_chunk(PipelineSchedule schedule, int stages, int model_chunk);

// Where each stage's chunk stands in the model, and the stages that feed and follow it in forward;
// kNoStage at the ends. Indexed by stage * chunks + chunk.
inline constexpr int kNoStage = -1;
struct ChunkPlace {
  std::int32_t model_chunk = 0;
  std::int32_t before = kNoStage;
  std::int32_t after = kNoStage;
};
std::vector<ChunkPlace> chunk_places(PipelineSchedule schedule, int stages, int chunks);

// Time of a step for stages that differ: exact or close, as the schedule's file says.
inline Seconds closed_form_total(PipelineSchedule schedule, const PipelineLoad& load,
                                 int micro_batches) {
  const ScheduleTraits& t = traits(schedule);
  return t.total(t, load, micro_batches);
}

}  // namespace meshwright
