// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/stage/stage_exchange.h"

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/block/transfer_names.h"
#include "sim/schedule/traits.h"
#include "sim/volume/volume.h"

namespace meshwright::calibrate {
namespace {

std::string_view name_of(const StageMessage& message) {
  return message.forward ? transfer_names::kActivationSend
                         : transfer_names::kActivationGradientSend;
}

Phase phase_of(const StageMessage& message) {
  return message.forward ? Phase::forward : Phase::backward;
}

CountedGroup& group_of(const TrialContext& context, const StageMessage& message) {
  return message.forward ? context.groups.pipeline : context.groups.pipeline_backward();
}

Tensor taken_out(std::map<StageMessage, Tensor>& from, const StageMessage& message) {
  const auto found = from.find(message);
  invariant(found != from.end(), "a message between chunks is there when it is needed");
  Tensor tensor = std::move(found->second);
  from.erase(found);
  return tensor;
}

}  // namespace

StageExchange::StageExchange(const TrialContext& context, const std::vector<StageProgram>& programs,
                             std::vector<Stage> stages, bool sends_alone)
    : context_(context),
      stages_(std::move(stages)),
      messages_(context.layout.schedule, context.layout.pipeline_parallel_size,
                context.layout.virtual_pipeline_parallel_size),
      sends_alone_(sends_alone),
      sends_beside_computing_(context.layout.virtual_pipeline_parallel_size > 1 ||
                              traits(context.layout.schedule).splits_backward),
      sends_pieces_(scatters_sends(context.layout)) {
  if (context.layout.pipeline_parallel_size == 1) return;
  if (!sends_alone) {
    groups_ = message_groups(
        context.layout.schedule, programs,
        context.layout.virtual_pipeline_parallel_size)[static_cast<std::size_t>(stage())];
  }
  measure_neighbours();
}

// Pairs 0-1, 2-3, ... first, then 1-2, 3-4, ..., then the last with the first where chunks go
// round.
void StageExchange::measure_neighbours() {
  const Layout& layout = context_.layout;
  const int last = layout.pipeline_parallel_size - 1;
  const bool goes_round = layout.virtual_pipeline_parallel_size > 1 &&
                          traits(layout.schedule).placement == ChunkPlacement::in_turn;
  const Tensor buffer = context_.tensor(piece_count());
  context_.compute.fill_zero(buffer.data(), buffer.size());
  context_.compute.synchronize();
  const auto measure = [&](int with) {
    transfer_seconds_[with] =
        context_.groups.pipeline.measure_transfer(buffer.data(), buffer.count(), with);
  };
  for (const int parity : {0, 1}) {
    if (stage() % 2 == parity && stage() != last) measure(stage() + 1);
    if (stage() % 2 != parity && stage() != 0) measure(stage() - 1);
  }
  if (!goes_round) return;
  if (stage() == last) measure(0);
  if (stage() == 0) measure(last);
}

void StageExchange::before(std::size_t instruction) {
  if (instruction == 0) next_group_ = 0;
  release_finished_sends();
  while (next_group_ < groups_.size() && groups_[next_group_].before == instruction) {
    post(groups_[next_group_++]);
  }
}

Tensor StageExchange::take(const Instruction& instruction) {
  const auto message = messages_.into(stage(), instruction);
  if (!message) return {};
  if (message->from == message->to) return taken_out(here_, *message);
  return whole(*message, sends_alone_ ? receive(*message) : taken_out(here_, *message));
}

int StageExchange::hidden_states(const StageMessage& message) const {
  const Stage& stage = stages_[static_cast<std::size_t>(message.from)];
  const Chunk& chunk = stage.chunks[static_cast<std::size_t>(message.from_chunk)];
  return message.forward ? chunk.hidden_states_out : chunk.hidden_states_in;
}

const float* StageExchange::message_of(const StageMessage& message, const Tensor& result) const {
  const std::int64_t skipped =
      sends_pieces_ ? message_count(message) * context_.groups.at.tensor : 0;
  return result.data() + skipped;
}

Tensor StageExchange::whole(const StageMessage& message, Tensor arrived) const {
  if (!sends_pieces_) return arrived;
  Tensor all = context_.tensor(count() * hidden_states(message));
  context_.groups.tensor.all_gather(message.forward ? transfer_names::kReceivedActivationGather
                                                    : transfer_names::kReceivedGradientGather,
                                    phase_of(message), arrived.data(), all.data(), arrived.count());
  return all;
}

void StageExchange::give(const Instruction& instruction, Tensor result) {
  const auto message = messages_.out_of(stage(), instruction);
  if (!message) return;
  if (message->from == message->to) {
    here_[*message] = std::move(result);
  } else if (sends_alone_) {
    send(*message, std::move(result));
  } else {
    leaving_[*message] = std::move(result);
  }
}

Tensor StageExchange::receive(const StageMessage& message) {
  Tensor arrived = context_.tensor(message_count(message));
  group_of(context_, message)
      .receive(message.forward ? "activation receive" : "activation gradient receive",
               arrived.data(), arrived.count(), message.from,
               transfer_seconds(message, message.from));
  return arrived;
}

void StageExchange::send(const StageMessage& message, Tensor result) {
  group_of(context_, message)
      .send(name_of(message), phase_of(message), message_of(message, result),
            message_count(message), message.to);
  (message.forward ? sent_ : sent_back_).push_back(std::move(result));
}

void StageExchange::release_finished_sends() {
  for (const bool forward : {true, false}) {
    std::deque<Tensor>& sent = forward ? sent_ : sent_back_;
    if (sent.empty()) continue;
    CountedGroup& group = forward ? context_.groups.pipeline : context_.groups.pipeline_backward();
    for (std::size_t n = group.finished_sends(); n > 0; --n) sent.pop_front();
  }
}

void StageExchange::post(const MessageGroup& group) {
  std::vector<CountedMessage> messages;
  std::vector<Tensor> gone;
  double longest = 0.0;
  for (const StageMessage& m : group.messages) {
    CountedMessage message{.name = name_of(m), .phase = phase_of(m), .count = message_count(m)};
    message.peer = m.to;
    if (m.to == stage()) {
      Tensor& arrived = here_[m] = context_.tensor(message_count(m));
      message.to_here = arrived.data();
      message.peer = m.from;
    } else {
      gone.push_back(taken_out(leaving_, m));
      message.from_here = message_of(m, gone.back());
    }
    longest = std::max(longest, transfer_seconds(m, message.peer));
    messages.push_back(message);
  }
  context_.groups.pipeline.exchange(messages, longest);
}

void StageExchange::before_computing() {
  if (!sends_beside_computing_) finish();
}

void StageExchange::finish() {
  if (sent_.empty() && sent_back_.empty()) return;
  context_.groups.pipeline.wait_sends();
  context_.groups.pipeline_backward().wait_sends();
  sent_.clear();
  sent_back_.clear();
}

}  // namespace meshwright::calibrate
