// SPDX-License-Identifier: Apache-2.0
// A communicator that counts, times and converts what a step sends.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/trial/ranks/message_format.h"
#include "calibrate/trial/ranks/recorder.h"
#include "sim/hardware/placement.h"

namespace meshwright::calibrate {

std::int64_t sum(const std::vector<std::int64_t>& counts);

// Entry of a call in the account.
struct CountedCall {
  std::string_view name;
  Phase phase = Phase::forward;
  Collective collective = Collective::all_to_all;
  std::int64_t count = 0;  // numbers of the whole array
};

struct CountedMessage {
  std::string_view name;  // of a send; receives are not counted
  Phase phase = Phase::forward;
  const float* from_here = nullptr;  // as Message
  float* to_here = nullptr;
  std::int64_t count = 0;
  int peer = 0;
};

// A communicator that writes every call into the recorder. A group of one does nothing and counts
// nothing: it needs no communicator, and has none. Messages have the format of format_of(name);
// what converting them costs is charged to `host`.
class CountedGroup {
 public:
  // `ranks`: null where the group is this rank alone; other groups may have the same.
  CountedGroup(std::shared_ptr<Communicator> ranks, Group group, Recorder& recorder,
               const MessageEdge& edge);

  [[nodiscard]] int rank() const { return ranks_ == nullptr ? 0 : ranks_->rank(); }
  [[nodiscard]] int size() const { return ranks_ == nullptr ? 1 : ranks_->size(); }

  void all_reduce(std::string_view name, Phase phase, float* data, std::int64_t count,
                  Reduction op = Reduction::sum);
  // The functions below need groups larger than one.
  // Numbers of 16 bits have the message's format already, and travel as they are.
  void all_gather(std::string_view name, Phase phase, ConstNumbers in, Numbers out,
                  std::int64_t count_per_rank);
  void reduce_scatter(std::string_view name, Phase phase, const float* in, float* out,
                      std::int64_t count_per_rank);
  void all_to_all(std::string_view name, Phase phase, const float* in, float* out,
                  std::int64_t count_per_rank);
  // All-to-all of different sizes. The account lists it as the call `as`, of `counted` numbers.
  void all_to_all_v(const CountedCall& as, const float* in, const std::vector<std::int64_t>& sent,
                    float* out, const std::vector<std::int64_t>& received);
  // From the hosts' memory; not counted.
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank);
  // `transfer_seconds`: what the message takes when both sides are ready; the rest of the time
  // until it is there is waiting, the pipeline's bubble.
  void send(std::string_view name, Phase phase, const float* data, std::int64_t count, int to);
  void receive(std::string_view name, float* data, std::int64_t count, int from,
               double transfer_seconds);
  void wait_sends();
  [[nodiscard]] std::size_t finished_sends();
  // All at once. `transfer_seconds` as of receive().
  void exchange(const std::vector<CountedMessage>& messages, double transfer_seconds);
  // One message to `to` and one from `from`, both at once.
  void send_and_receive(std::string_view name, Phase phase, const float* send, int to,
                        float* receive, int from, std::int64_t count);

  // Seconds of one message of `count` numbers between stages to or from a neighbour that is ready;
  // collective over both. Counts nothing.
  double measure_transfer(float* buffer, std::int64_t count, int with);

 private:
  [[nodiscard]] Transfer call(std::string_view name, Phase phase, Collective collective,
                              std::int64_t count) const;
  [[nodiscard]] Precision format(std::string_view name) const {
    return format_of(name, edge_.formats);
  }
  // Where a message of this name lies: the array itself, or a copy of 16 bits.
  [[nodiscard]] Numbers room_for(std::string_view name, float* data, std::int64_t count,
                                 Tensor& copy);
  void pack(Numbers room, const float* data, std::int64_t count);
  [[nodiscard]] ConstNumbers packed(std::string_view name, const float* data, std::int64_t count,
                                    Tensor& copy);
  void unpack(std::string_view name, const Tensor& copy, float* data, std::int64_t count);

  // Charges, times and counts the call.
  template <typename Move>
  void run(const Transfer& call, const Move& move);
  // The same with messages as they travel: move(ConstNumbers, Numbers).
  struct Going {
    const float* data;
    std::int64_t count;
  };
  struct Coming {
    float* data;
    std::int64_t count;
  };
  template <typename Move>
  void run(const Transfer& call, Going going, Coming coming, const Move& move);

  std::shared_ptr<Communicator> ranks_;
  Group group_;
  TermKind term_;
  Recorder& recorder_;
  MessageEdge edge_;
  std::deque<Tensor> sent_;  // copies that the network still reads, oldest first
};

}  // namespace meshwright::calibrate
