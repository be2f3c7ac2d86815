// SPDX-License-Identifier: Apache-2.0
// Everything that distinguishes one pipeline schedule from another. Each schedule fills the record
// in the file of its name; nothing else asks which schedule it is.
#pragma once

#include <array>
#include <limits>

#include "sim/schedule/instruction.h"
#include "sim/schedule/pipeline_schedule.h"

namespace meshwright {

// Stage that holds the model's chunk c, with p stages of v chunks each.
enum class ChunkPlacement : std::uint8_t {
  in_turn,   // stage c mod p, again for each chunk
  folded,    // the same, but every second time from the last stage back to the first: a V
  mirrored,  // p chunks, each on two stages, r and p-1-r: micro-batches enter from both ends
};

struct ScheduleTraits {
  PipelineSchedule schedule{};

  ChunkPlacement placement = ChunkPlacement::in_turn;
  static constexpr int kAnyNumber = std::numeric_limits<int>::max();
  int fewest_chunks = 1, most_chunks = 1;  // a stage

  int fewest_stages = 1;
  int stages_multiple_of = 1;
  // At least per_stage * p + more micro-batches.
  struct Fewest {
    int per_stage = 0, more = 1;
    [[nodiscard]] constexpr int of(int stages) const { return per_stage * stages + more; }
  };
  Fewest fewest_micro_batches{};
  int micro_batches_multiple_of = 1;
  // Micro-batches go through a stage's chunks in groups of one a stage, so that their number is a
  // multiple of the stages.
  bool groups_of_stages = false;

  bool splits_backward = false;  // into input and weight gradient
  // Forward of one micro-batch runs beside backward of another, so that tokens on their way to
  // experts hide (DualPipe).
  bool pairs_passes = false;
  bool overlaps_sends = false;  // as Megatron-LM does by default (overlap_p2p_comm)
  bool may_overlap_sends = true;
  bool searched_by_default = false;
  bool holds_all_micro_batches = false;  // else the held ones depend on the stages alone
  // In a run of equal neighbouring stages the first or the last holds the most activations.
  bool fullest_at_an_end = true;

  StageProgram (*program)(const PipelineSizes&, int stage) = nullptr;
  // Idle seconds of a step with equal stages. `times` are one chunk's.
  Seconds (*bubble)(int stages, const PassTimes& times) = nullptr;
  // Time of a step for stages that differ.
  Seconds (*total)(const ScheduleTraits&, const PipelineLoad&, int micro_batches) = nullptr;
  // Transfers that a stage waits for, for one micro-batch through each of its chunks. Asked for two
  // stages or more.
  int (*sends)(int stage, int stages, int chunks) = nullptr;
  // Transfers of a step during which a stage computes nothing, where they are not `sends` for each
  // micro-batch: a program that runs a forward and a backward together sends for both at once.
  int (*paired_sends)(const PipelineSizes&, int stage) = nullptr;
  // Most micro-batch chunks whose activations a stage holds.
  int (*peak)(const PipelineSizes&, int stage) = nullptr;
  // Micro-batches whose forward, and as many whose backward, find no partner on the longest way
  // through the stages: while it fills and drains, chunk by chunk.
  double (*unpaired)(int stages) = [](int stages) { return static_cast<double>(stages); };

  // Transfers of a step during which a stage computes nothing, as simulate() counts them where no
  // chunk sends more than one hidden state.
  [[nodiscard]] double sends_of_step(const PipelineSizes& sizes, int stage) const {
    if (sizes.stages == 1) return 0.0;
    if (paired_sends != nullptr) return paired_sends(sizes, stage);
    return static_cast<double>(sends(stage, sizes.stages, sizes.chunks)) * sizes.micro_batches;
  }
  [[nodiscard]] constexpr bool folded() const { return placement == ChunkPlacement::folded; }
  [[nodiscard]] constexpr bool mirrored() const { return placement == ChunkPlacement::mirrored; }
  [[nodiscard]] constexpr bool any_number_of_chunks() const { return most_chunks == kAnyNumber; }
};

// registry.cc; in the order of the enumeration.
extern const std::array<const ScheduleTraits*, kPipelineScheduleNames.size()> pipeline_schedules;

inline const ScheduleTraits& traits(PipelineSchedule schedule) {
  return *pipeline_schedules[static_cast<std::size_t>(schedule)];
}

}  // namespace meshwright
