// SPDX-License-Identifier: Apache-2.0
// Pipeline schedules as lists of instructions, one list a stage, and one simulator that runs them.
//
// A micro-batch goes forward through chunks 0..p*v-1 and back. Schedules: GPipe (arXiv 1811.06965),
// 1F1B (PipeDream-Flush), interleaved 1F1B (Narayanan 2021, 2104.04473), ZB-H1, ZB-H2 (Qi
// 2401.10241), ZB-V (2405.15362), DualPipe (DeepSeek-V3, 2412.19437).
// An activation is held from the start of its forward until `backward` or, where the backward pass
// is split, `backward_weight` has ended (as the zero-bubble papers count).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright {

enum class Work : std::uint8_t {
  forward,
  backward,        // input and weight gradient together
  backward_input,  // zero-bubble schedules split them
  backward_weight,
};

struct Instruction {
  Work work = Work::forward;
  // Runs together with the next instruction of the program (DualPipe's overlapped forward and
  // backward): both start when both inputs are there, and end together after the sum of their
  // times.
  bool with_next = false;
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
  // One transfer to a neighbouring stage, during which the sender computes nothing (Megatron-LM
  // without overlap_p2p_comm waits for it); 0 when overlapped.
  Seconds send;
};

// The same without stages that repeat: what the closed form of a step's time reads.
struct StageLoad {
  Seconds forward, backward;  // all chunks of a stage, one micro-batch each
  int count = 1;              // neighbouring stages that are alike
};
struct PipelineLoad {
  std::span<const StageLoad> stages;  // first to last
  int num_stages = 1;
  int chunks = 1;      // a stage
  ChunkTimes average;  // over all chunks of all stages, transfers left out
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

// The program of one stage, and of every stage. Preconditions are the schedule_* rules of
// sim/rules/rules.h.
StageProgram stage_program(PipelineSchedule schedule, int stages, int stage, int micro_batches,
                           int chunks);
std::vector<StageProgram> pipeline_programs(PipelineSchedule schedule, int stages,
                                            int micro_batches, int chunks);

// Runs the programs: each stage in its own order, an instruction starts when its stage is free and
// its input has arrived. Throws std::logic_error if the programs deadlock.
Timeline simulate(PipelineSchedule schedule, const std::vector<StageProgram>& programs,
                  const PipelineTimes& times, bool keep_events);

// The stage that holds the model's chunk number c (0 <= c < p*v), and which of its chunks it is.
// DualPipe holds the model twice: chunks 0..p-1 are the copy that runs from stage 0 to p-1, chunks
// p..2p-1 the copy that runs from stage p-1 to 0 and takes the second half of the micro-batches.
struct ChunkHome {
  int stage = 0;
  int chunk = 0;
};
ChunkHome chunk_home(PipelineSchedule schedule, int stages, int chunks, int model_chunk);

// Where each stage's chunk stands in the model, and the stages that feed and follow it in forward;
// kNoStage at the ends. Indexed by stage * chunks + chunk.
inline constexpr int kNoStage = -1;
struct ChunkPlace {
  std::int32_t model_chunk = 0;
  std::int32_t before = kNoStage;
  std::int32_t after = kNoStage;
};
std::vector<ChunkPlace> chunk_places(PipelineSchedule schedule, int stages, int chunks);

// Closed forms, equal to the simulation for equal stages. `times` are one chunk's.
//
// Bubble seconds of one step, from m >= p on (ZB-H2 and ZB-V from 2p-1, DualPipe from 2p):
//   GPipe, 1F1B, interleaved  (p-1)(F+B+W)
//   ZB-H1                     (p-1)(B + max(F-W, 0));        published for W <= F: (p-1)(F+B-W)
//   ZB-H2                     (p-1) max(F+B-2W, B-F, 0);     published for W <= F: (p-1)(F+B-2W)
//   ZB-V                      2(p-1)(B-W), W <= F <= B;      published for F = B = W: 0
//   DualPipe                  (p/2-1)(F + max(F,B) + max(B-W, 0));
//                             published for F, W <= B: (p/2-1)(F&B + B+W - 3W), F&B = F+B+W
Seconds closed_form_bubble(PipelineSchedule schedule, int stages, int chunks,
                           const ChunkTimes& times);
// Time of a step for stages that differ.
//   GPipe  sum F + (m-1) max F + sum B + (m-1) max B: exact.
//   1F1B   the longest path that alternates at one stage, with what that stage waits for at both
//          ends: O(p), equal to the simulation for any times.
//   Others the busiest stage's work and the bubble of the average chunk: exact for equal stages,
//          an approximation otherwise.
Seconds closed_form_total(PipelineSchedule schedule, const PipelineLoad& load, int micro_batches);
Seconds closed_form_total(PipelineSchedule schedule, const PipelineTimes& times, int micro_batches);
// Peak of micro-batch chunks whose activations a stage holds.
double closed_form_peak_activations(PipelineSchedule schedule, int stages, int chunks,
                                    int micro_batches, int stage);

}  // namespace meshwright
