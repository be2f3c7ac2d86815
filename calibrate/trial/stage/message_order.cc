// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/message_order.h"

#include <algorithm>
#include <map>
#include <utility>

namespace meshwright::calibrate {

StageMessages::StageMessages(PipelineSchedule schedule, int stages, int chunks)
    : chunks_(chunks), places_(chunk_places(schedule, stages, chunks)) {}

const ChunkPlace& StageMessages::place(int stage, int chunk) const {
  return places_[static_cast<std::size_t>(stage * chunks_ + chunk)];
}

// Chunk number in the stage that holds it.
int StageMessages::chunk_of(int stage, int model_chunk) const {
  int chunk = 0;
  while (place(stage, chunk).model_chunk != model_chunk) ++chunk;
  return chunk;
}

std::optional<StageMessage> StageMessages::into(int stage, const Instruction& instruction) const {
  if (instruction.pass == Pass::backward_weight) return std::nullopt;
  const bool forward = instruction.pass == Pass::forward;
  const ChunkPlace& here = place(stage, instruction.chunk);
  const int from = forward ? here.before : here.after;
  if (from == kNoStage) return std::nullopt;
  return StageMessage{.from = from,
                      .to = stage,
                      .forward = forward,
                      .from_chunk = chunk_of(from, here.model_chunk + (forward ? -1 : 1)),
                      .to_chunk = instruction.chunk,
                      .micro_batch = instruction.micro_batch};
}

std::optional<StageMessage> StageMessages::out_of(int stage, const Instruction& instruction) const {
  if (instruction.pass == Pass::backward_weight) return std::nullopt;
  const bool forward = instruction.pass == Pass::forward;
  const ChunkPlace& here = place(stage, instruction.chunk);
  const int to = forward ? here.after : here.before;
  if (to == kNoStage) return std::nullopt;
  return StageMessage{.from = stage,
                      .to = to,
                      .forward = forward,
                      .from_chunk = instruction.chunk,
                      .to_chunk = chunk_of(to, here.model_chunk + (forward ? 1 : -1)),
                      .micro_batch = instruction.micro_batch};
}

namespace {

std::vector<TimelineEvent> events_of(PipelineSchedule schedule,
                                     const std::vector<StageProgram>& programs, int chunks) {
  const PassTimes one{seconds(1), seconds(1), seconds(1)};
  PipelineTimes times;
  times.stages.assign(programs.size(),
                      std::vector<PassTimes>(static_cast<std::size_t>(chunks), one));
  return simulate(schedule, programs, times, true).events;
}

// Instructions of a stage that begin before the moment.
std::size_t num_begun(const std::vector<TimelineEvent>& events, int stage, Seconds moment) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(),
                    [&](const TimelineEvent& e) { return e.stage == stage && e.begin < moment; }));
}

}  // namespace

std::vector<std::vector<MessageGroup>> message_groups(PipelineSchedule schedule,
                                                      const std::vector<StageProgram>& programs,
                                                      int chunks) {
  const StageMessages messages(schedule, static_cast<int>(programs.size()), chunks);
  const std::vector<TimelineEvent> events = events_of(schedule, programs, chunks);
  std::map<Seconds, std::vector<StageMessage>> by_moment;
  for (const TimelineEvent& event : events) {
    const auto message = messages.out_of(event.stage, event.instruction);
    if (message && message->from != message->to) by_moment[event.end].push_back(*message);
  }
  std::vector<std::vector<MessageGroup>> groups(programs.size());
  for (auto& [moment, of_moment] : by_moment) {
    std::sort(of_moment.begin(), of_moment.end());
    for (std::size_t s = 0; s < programs.size(); ++s) {
      const int stage = static_cast<int>(s);
      MessageGroup group{num_begun(events, stage, moment), {}};
      for (const StageMessage& m : of_moment) {
        if (m.from == stage || m.to == stage) group.messages.push_back(m);
      }
      if (!group.messages.empty()) groups[s].push_back(std::move(group));
    }
  }
  return groups;
}

}  // namespace meshwright::calibrate
