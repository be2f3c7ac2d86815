// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/ranks/counted_group.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

constexpr std::string_view kPacking = "messages packed into 16 bits";

TermKind term_of(Group group) {
  switch (group) {
    case Group::tensor:
    case Group::expert_tensor:
      return TermKind::tensor_parallel_communication;
    case Group::pipeline:
      return TermKind::pipeline_communication;
    case Group::context:
      return TermKind::context_parallel_communication;
    case Group::expert:
      return TermKind::expert_parallel_communication;
    default:
      return TermKind::data_parallel_communication;
  }
}

}  // namespace

std::int64_t sum(const std::vector<std::int64_t>& counts) {
  return std::reduce(counts.begin(), counts.end(), std::int64_t{0});
}

CountedGroup::CountedGroup(std::shared_ptr<Communicator> ranks, Group group, Recorder& recorder,
                           const MessageEdge& edge)
    : ranks_(std::move(ranks)),
      group_(group),
      term_(term_of(group)),
      recorder_(recorder),
      edge_(edge) {}

Transfer CountedGroup::call(std::string_view name, Phase phase, Collective collective,
                            std::int64_t count) const {
  Transfer t;
  t.name = name;
  t.group = group_;
  t.collective = collective;
  t.phase = phase;
  t.group_size = group_ == Group::pipeline ? 2 : size();
  t.payload = bytes(bytes_per_element(format(name)) * static_cast<double>(count));
  return t;
}

Numbers CountedGroup::room_for(std::string_view name, float* data, std::int64_t count,
                               Tensor& copy) {
  if (!has_sixteen_bits(format(name))) return data;
  copy = Tensor(edge_.arena, (count + 1) / 2);  // two 16-bit numbers in one of 32
  return {copy.data(), format(name)};
}

void CountedGroup::pack(Numbers room, const float* data, std::int64_t count) {
  if (room.format == Precision::fp32) return;
  const TermScope scope(recorder_, TermKind::host, kPacking);
  edge_.compute.convert(room.data, room.format, data, count);
}

ConstNumbers CountedGroup::packed(std::string_view name, const float* data, std::int64_t count,
                                  Tensor& copy) {
  const Numbers room = room_for(name, nullptr, count, copy);
  if (copy.empty()) return data;
  pack(room, data, count);
  return room;
}

void CountedGroup::unpack(std::string_view name, const Tensor& copy, float* data,
                          std::int64_t count) {
  if (copy.empty()) return;
  const TermScope scope(recorder_, TermKind::host, kPacking);
  edge_.compute.widen(data, copy.data(), format(name), count);
}

template <typename Move>
void CountedGroup::run(const Transfer& call, const Move& move) {
  invariant(ranks_ != nullptr, "a rank alone sends nothing");
  const TermKind before = recorder_.switch_to(term_, call.name);
  move();
  recorder_.switch_to(before);
  recorder_.count_last(call);
}

template <typename Move>
void CountedGroup::run(const Transfer& call, Going going, Coming coming, const Move& move) {
  Tensor sent, arrived;
  const ConstNumbers in = packed(call.name, going.data, going.count, sent);
  const Numbers out = room_for(call.name, coming.data, coming.count, arrived);
  run(call, [&] { move(in, out); });
  unpack(call.name, arrived, coming.data, coming.count);
}

void CountedGroup::all_reduce(std::string_view name, Phase phase, float* data, std::int64_t count,
                              Reduction op) {
  if (size() == 1) return;
  Tensor copy;
  const Numbers numbers = room_for(name, data, count, copy);
  pack(numbers, data, count);
  run(call(name, phase, Collective::all_reduce, count),
      [&] { ranks_->all_reduce(numbers, count, op); });
  unpack(name, copy, data, count);
}

void CountedGroup::all_gather(std::string_view name, Phase phase, ConstNumbers in, Numbers out,
                              std::int64_t count_per_rank) {
  const std::int64_t whole = count_per_rank * size();
  invariant(in.format == out.format, "what is gathered has the format of its pieces");
  const Transfer gather = call(name, phase, Collective::all_gather, whole);
  if (in.format != Precision::fp32) {
    invariant(in.format == format(name), "a message has its own format");
    return run(gather, [&] { ranks_->all_gather(in, out, count_per_rank); });
  }
  run(gather, {static_cast<const float*>(in.data), count_per_rank},
      {static_cast<float*>(out.data), whole},
      [&](ConstNumbers own, Numbers all) { ranks_->all_gather(own, all, count_per_rank); });
}

void CountedGroup::reduce_scatter(std::string_view name, Phase phase, const float* in, float* out,
                                  std::int64_t count_per_rank) {
  const std::int64_t whole = count_per_rank * size();
  run(call(name, phase, Collective::reduce_scatter, whole), {in, whole}, {out, count_per_rank},
      [&](ConstNumbers all, Numbers own) { ranks_->reduce_scatter(all, own, count_per_rank); });
}

void CountedGroup::all_to_all(std::string_view name, Phase phase, const float* in, float* out,
                              std::int64_t count_per_rank) {
  const std::int64_t whole = count_per_rank * size();
  run(call(name, phase, Collective::all_to_all, whole), {in, whole}, {out, whole},
      [&](ConstNumbers from, Numbers to) { ranks_->all_to_all(from, to, count_per_rank); });
}

void CountedGroup::all_to_all_v(const CountedCall& as, const float* in,
                                const std::vector<std::int64_t>& sent, float* out,
                                const std::vector<std::int64_t>& received) {
  run(call(as.name, as.phase, as.collective, as.count), {in, sum(sent)}, {out, sum(received)},
      [&](ConstNumbers from, Numbers to) { ranks_->all_to_all_v(from, sent, to, received); });
}

void CountedGroup::host_gather(const void* in, void* out, std::size_t bytes_per_rank) {
  const TermScope scope(recorder_, term_, "counts of tokens");
  ranks_->host_gather(in, out, bytes_per_rank);
}

void CountedGroup::send(std::string_view name, Phase phase, const float* data, std::int64_t count,
                        int to) {
  Tensor copy;
  const ConstNumbers message = packed(name, data, count, copy);
  const TermScope scope(recorder_, term_, name);
  ranks_->send(message, count, to);
  if (!copy.empty()) sent_.push_back(std::move(copy));
  recorder_.count(call(name, phase, Collective::send_recv, count));  // the receiver times it
}

void CountedGroup::receive(std::string_view name, float* data, std::int64_t count, int from,
                           double transfer_seconds) {
  Tensor copy;
  const Numbers message = room_for(name, data, count, copy);
  constexpr auto kWaiting = TermKind::pipeline_bubble;
  const TermKind before = recorder_.switch_to(kWaiting);
  ranks_->receive(message, count, from);
  recorder_.switch_to(before);
  recorder_.move_last(term_, transfer_seconds, name);
  unpack(name, copy, data, count);
}

void CountedGroup::exchange(const std::vector<CountedMessage>& messages, double transfer_seconds) {
  std::vector<Message> all;
  std::vector<Tensor> copies(messages.size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const CountedMessage& m = messages[i];
    Message message;
    message.count = m.count;
    message.peer = m.peer;
    if (m.to_here == nullptr) {
      message.from_here = packed(m.name, m.from_here, m.count, copies[i]);
      recorder_.count(call(m.name, m.phase, Collective::send_recv, m.count));
    } else {
      message.to_here = room_for(m.name, m.to_here, m.count, copies[i]);
    }
    all.push_back(message);
  }
  constexpr auto kWaiting = TermKind::pipeline_bubble;
  const TermKind before = recorder_.switch_to(kWaiting);
  ranks_->exchange(all);
  recorder_.switch_to(before);
  recorder_.move_last(term_, transfer_seconds, "messages between stages");
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const CountedMessage& m = messages[i];
    if (m.to_here != nullptr) unpack(m.name, copies[i], m.to_here, m.count);
  }
}

void CountedGroup::wait_sends() {
  if (ranks_ == nullptr) return;
  const TermScope scope(recorder_, term_, "sends waited for");
  ranks_->wait_sends();
  sent_.clear();
}

std::size_t CountedGroup::finished_sends() {
  if (ranks_ == nullptr) return 0;
  const std::size_t finished = ranks_->finished_sends();
  const std::size_t copies = std::min(finished, sent_.size());
  sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(copies));
  return finished;
}

void CountedGroup::send_and_receive(std::string_view name, Phase phase, const float* send, int to,
                                    float* receive, int from, std::int64_t count) {
  run(call(name, phase, Collective::send_recv, count), {send, count}, {receive, count},
      [&](ConstNumbers going, Numbers coming) {
        ranks_->send(going, count, to);
        ranks_->receive(coming, count, from);
        ranks_->wait_sends();
      });
}

double CountedGroup::measure_transfer(float* buffer, std::int64_t count, int with) {
  constexpr int kTries = 5;  // the first ones open the connection
  const Numbers message{buffer, edge_.formats.activations};
  double best = 1e9;
  for (int i = 0; i < kTries; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    for (const bool my_turn : {rank() < with, rank() > with}) {
      if (my_turn) {
        ranks_->send(message, count, with);
        ranks_->wait_sends();
      } else {
        ranks_->receive(message, count, with);
      }
    }
    recorder_.wait_for_device();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double>(end - begin).count() / 2.0);
  }
  return best;
}

}  // namespace meshwright::calibrate
