// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as lists of instructions, one list a stage, and one simulator that runs them.
//
// A micro-batch goes forward through chunks 0..p*v-1 and back. Schedules: GPipe (arXiv 1811.06965),
// 1F1B (PipeDream-Flush), interleaved 1F1B (Narayanan 2021, 2104.04473), ZB-H1, ZB-H2 (Qi
// 2401.10241), ZB-V (2405.15362), DualPipe (DeepSeek-V3, 2412.19437).
#pragma once

#include <cstdint>
#include <vector>

#include "sim/layout/layout.h"
#include "sim/units.h"

namespace meshwright {

enum class Work : std::uint8_t {
  forward,
  backward,        // input and weight gradient together
  backward_input,  // zero-bubble schedules split them
  backward_weight,
};

struct Instruction {
  Work work = Work::forward;
  std::int32_t micro_batch = 0;
  std::int32_t chunk = 0;  // of this stage, 0..v-1
};

using StageProgram = std::vector<Instruction>;

// Seconds of each kind of work for one micro-batch of one chunk.
struct ChunkTimes {
  Seconds forward;
  Seconds backward_input;   // with recompute
  Seconds backward_weight;  // `backward` takes the sum of both
};

struct PipelineTimes {
  std::vector<std::vector<ChunkTimes>> stages;  // [stage][chunk]
  Seconds send;  // between neighbouring stages, not hidden; 0 when overlapped
};

struct TimelineEvent {
  Seconds begin, end;
  std::int32_t stage = 0;
  Instruction instruction;
};

struct Timeline {
  std::vector<TimelineEvent> events;  // stage by stage, in time order; empty unless asked for
  Seconds total;
  std::vector<Seconds> busy;             // per stage
  std::vector<double> peak_activations;  // per stage, in units of one chunk's micro-batch
  [[nodiscard]] Seconds bubble(int stage) const {
    return total - busy[static_cast<std::size_t>(stage)];
  }
};

// The program of every stage. Preconditions are the schedule_* rules of sim/layout/rules.h.
std::vector<StageProgram> pipeline_programs(PipelineSchedule schedule, int stages,
                                            int micro_batches, int chunks);

// Runs the programs: each stage in its own order, an instruction starts when its stage is free and
// its input has arrived. Throws std::logic_error if the programs deadlock.
Timeline simulate(PipelineSchedule schedule, const std::vector<StageProgram>& programs,
                  const PipelineTimes& times, bool keep_events);

// The stage that holds the model's chunk number c (0 <= c < p*v), and which of its chunks it is.
struct ChunkHome {
  int stage = 0;
  int chunk = 0;
};
ChunkHome chunk_home(PipelineSchedule schedule, int stages, int chunks, int model_chunk);

// Closed forms (equal to the simulation for equal stages; tested). Bubble seconds of one step.
Seconds closed_form_bubble(PipelineSchedule schedule, int stages, int chunks,
                           const ChunkTimes& times);
// Time of a step for stages that differ: sum over the stages of the first micro-batch's work plus
// (m-1) times the slowest stage; exact for equal stages, an upper bound otherwise.
Seconds closed_form_total(PipelineSchedule schedule, const PipelineTimes& times, int micro_batches);
// Peak of micro-batch chunks whose activations a stage holds.
double closed_form_peak_activations(PipelineSchedule schedule, int stages, int chunks,
                                    int micro_batches, int stage);

}  // namespace meshwright
