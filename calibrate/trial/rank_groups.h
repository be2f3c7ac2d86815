// SPDX-License-Identifier: Apache-2.0
// The groups that one rank belongs to under a layout, each counting and timing its own traffic.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/backends/communicator.h"
#include "calibrate/trial/recorder.h"
#include "sim/hardware/placement.h"
#include "sim/layout/layout.h"

namespace meshwright::calibrate {

// What the account says of a call.
struct CountedCall {
  std::string_view name;
  Phase phase = Phase::forward;
  Collective collective = Collective::all_to_all;
  std::int64_t count = 0;  // numbers of the whole array
};

struct CountedMessage {
  std::string_view name;  // of a send; receives are not counted
  Phase phase = Phase::forward;
  Message message;
};

// A communicator that writes every call into the recorder. A group of one does nothing and counts
// nothing.
class CountedGroup {
 public:
  CountedGroup(std::unique_ptr<Communicator> ranks, Group group, Recorder& recorder);

  [[nodiscard]] int rank() const { return ranks_->rank(); }
  [[nodiscard]] int size() const { return ranks_->size(); }

  void all_reduce(std::string_view name, Phase phase, float* data, std::int64_t count,
                  Reduction op = Reduction::sum);
  // What follows is only of groups larger than one.
  void all_gather(std::string_view name, Phase phase, const float* in, float* out,
                  std::int64_t count_per_rank);
  void reduce_scatter(std::string_view name, Phase phase, const float* in, float* out,
                      std::int64_t count_per_rank);
  void all_to_all(std::string_view name, Phase phase, const float* in, float* out,
                  std::int64_t count_per_rank);
  // Of unlike sizes. In the account it is what it stands for, of `counted` numbers.
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
  [[nodiscard]] std::size_t finished_sends() { return ranks_->finished_sends(); }
  // All at once. `transfer_seconds` as of receive().
  void exchange(const std::vector<CountedMessage>& messages, double transfer_seconds);
  // One message to `to` and one from `from`, both at once.
  void send_and_receive(std::string_view name, Phase phase, const float* send, int to,
                        float* receive, int from, std::int64_t count);

  // Seconds of one message of `count` numbers to or from a neighbour that is ready; collective over
  // both. Counts nothing.
  double measure_transfer(float* buffer, std::int64_t count, int with);

 private:
  [[nodiscard]] Transfer call(std::string_view name, Phase phase, Collective collective,
                              std::int64_t count) const;
  // Charges, times and counts the call.
  template <typename Move>
  void run(const Transfer& call, const Move& move);

  std::unique_ptr<Communicator> ranks_;
  Group group_;
  TermKind term_;
  Recorder& recorder_;
};

struct RankGroups {
  RankGroups(const Layout& layout, Communicator& ranks, Recorder& recorder);

  Coordinates at;
  CountedGroup tensor;
  CountedGroup context;
  CountedGroup data;       // with the context ranks
  CountedGroup pipeline;   // rank in it: the stage
  CountedGroup embedding;  // first and last stage; other stages are alone in theirs
  CountedGroup mirrored;   // the two stages with the same layers; else each alone
  CountedGroup expert;     // rank in it: which of the experts
  CountedGroup expert_tensor;
  CountedGroup expert_data;
  // Of the data ranks, those that share one copy of the sharded states, and those that hold the
  // same shard.
  CountedGroup data_shard, data_copies;
  CountedGroup expert_data_shard, expert_data_copies;

  // The stages again, for gradients, which do not queue behind activations; where a send starts
  // only together with a receive, the same group, or it would never start.
  [[nodiscard]] CountedGroup& pipeline_backward() { return gradients_ ? *gradients_ : pipeline; }

 private:
  std::optional<CountedGroup> gradients_;
};

}  // namespace meshwright::calibrate
