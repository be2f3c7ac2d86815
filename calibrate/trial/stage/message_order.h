// SPDX-License-Identifier: Apache-2.0
// An order of a pipeline's sends and receives that is free of deadlock where calls queue: on NCCL's
// stream a message that waits for its other side keeps everything behind it waiting.
//
// The programs are run on a clock on which a forward, an input gradient and a weight gradient take
// 1 each. A message belongs to the moment at which its contents are done. Each stage posts all
// messages of a moment, sends and receives, as one group. The group comes after the instructions
// that began before the moment and before those that begin at or after it. All stages therefore
// post their groups in the order of the moments, and both sides of a message are in groups of the
// same moment, so the earliest unfinished group can always proceed. Megatron-LM's schedules do the
// same by hand (core/pipeline_parallel/p2p_communication.py, batched isend and irecv).
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <vector>

#include "sim/schedule/schedule.h"

namespace meshwright::calibrate {

// Message between chunks of a micro-batch: an activation, or its gradient.
struct StageMessage {
  int from = 0, to = 0;  // stages; the same where a chunk follows on the same one
  bool forward = true;
  int from_chunk = 0, to_chunk = 0;  // of the stage
  int micro_batch = 0;
  auto operator<=>(const StageMessage&) const = default;
};

// Message that an instruction needs, and the one that it produces. There is none at the ends of the
// model and for weight gradients.
class StageMessages {
 public:
  StageMessages(PipelineSchedule schedule, int stages, int chunks);
  [[nodiscard]] std::optional<StageMessage> into(int stage, const Instruction& instruction) const;
  [[nodiscard]] std::optional<StageMessage> out_of(int stage, const Instruction& instruction) const;

 private:
  [[nodiscard]] const ChunkPlace& place(int stage, int chunk) const;
  [[nodiscard]] int chunk_of(int stage, int model_chunk) const;

  int chunks_;
  std::vector<ChunkPlace> places_;
};

struct MessageGroup {
  std::size_t before = 0;  // an instruction of the stage's program; its size: after the last
  std::vector<StageMessage> messages;  // both sides list messages between them in the same order
};

// Messages of each stage, in the order in which they are posted.
std::vector<std::vector<MessageGroup>> message_groups(PipelineSchedule schedule,
                                                      const std::vector<StageProgram>& programs,
                                                      int chunks);

}  // namespace meshwright::calibrate
