// SPDX-License-Identifier: Apache-2.0
// A communicator that leaves out one call of a step: all ranks that would take part leave it out
// together, as if the line that makes it were missing.
#pragma once

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

// The n-th call on one of a rank's groups: a collective, or a message between two of its ranks.
struct TransferCall {
  int split = 0;           // which of the world's splits made the group
  int from = -1, to = -1;  // -1: a collective
  int n = 0;
  auto operator<=>(const TransferCall&) const = default;
};

// State that the communicators of one rank share.
struct Omission {
  TransferCall omitted{.split = -1};
  std::map<TransferCall, int> made;  // calls since the last begin(), without their n
  int splits = 0;

  void begin(TransferCall call) {
    omitted = call;
    made.clear();
  }
  // Counts the call; false where it is the one to leave out.
  bool takes_place(TransferCall call) {
    call.n = made[TransferCall{call.split, call.from, call.to}]++;
    return call != omitted;
  }
};

class OmittingCommunicator final : public Communicator {
 public:
  OmittingCommunicator(std::unique_ptr<Communicator> owned, Communicator& inner, Omission& omission,
                       int split)
      : owned_(std::move(owned)), inner_(inner), omission_(omission), split_(split) {}

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] std::string host() const override { return inner_.host(); }
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override {
    const int number = omission_.splits++;  // the same on ranks without a group
    auto part = inner_.split(color, key);
    if (part == nullptr) return nullptr;
    Communicator& inner = *part;
    return std::make_unique<OmittingCommunicator>(std::move(part), inner, omission_, number);
  }
  void barrier() override { inner_.barrier(); }
  void all_reduce(Numbers data, std::int64_t count, Reduction op) override {
    if (collective()) inner_.all_reduce(data, count, op);
  }
  void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    if (collective()) inner_.all_gather(in, out, count_per_rank);
  }
  void reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    if (collective()) inner_.reduce_scatter(in, out, count_per_rank);
  }
  void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    if (collective()) inner_.all_to_all(in, out, count_per_rank);
  }
  void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts, Numbers out,
                    const std::vector<std::int64_t>& receive_counts) override {
    if (collective()) inner_.all_to_all_v(in, send_counts, out, receive_counts);
  }
  void broadcast(Numbers data, std::int64_t count, int root) override {
    if (collective()) inner_.broadcast(data, count, root);
  }
  void send(ConstNumbers data, std::int64_t count, int to) override {
    if (message(rank(), to)) inner_.send(data, count, to);
  }
  void receive(Numbers data, std::int64_t count, int from) override {
    if (message(from, rank())) inner_.receive(data, count, from);
  }
  void wait_sends() override { inner_.wait_sends(); }
  [[nodiscard]] std::size_t start_receive(Numbers data, std::int64_t count, int from) override {
    // A receive that is left out is over at once: no network knows this number.
    if (!message(from, rank())) return static_cast<std::size_t>(-1);
    return inner_.start_receive(data, count, from);
  }
  [[nodiscard]] bool has_arrived(std::size_t receive) override {
    return receive == static_cast<std::size_t>(-1) || inner_.has_arrived(receive);
  }
  [[nodiscard]] bool receives_alone() const override { return inner_.receives_alone(); }
  void exchange(std::span<const Message> messages) override {
    std::vector<Message> left;
    for (const Message& m : messages) {
      const bool sends = m.is_send();
      if (sends ? message(rank(), m.peer) : message(m.peer, rank())) left.push_back(m);
    }
    if (!left.empty()) inner_.exchange(left);
  }
  [[nodiscard]] bool sends_alone() const override { return inner_.sends_alone(); }
  void host_broadcast(void* data, std::size_t bytes, int root) override {
    inner_.host_broadcast(data, bytes, root);
  }
  double host_max(double value) override { return inner_.host_max(value); }
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override {
    inner_.host_gather(in, out, bytes_per_rank);
  }
  [[noreturn]] void abort(int exit_code) override {
    inner_.abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  bool collective() { return omission_.takes_place({.split = split_}); }
  bool message(int from, int to) {
    return omission_.takes_place({.split = split_, .from = from, .to = to});
  }

  std::unique_ptr<Communicator> owned_;  // null: the world
  Communicator& inner_;
  Omission& omission_;
  int split_;
};

}  // namespace meshwright::calibrate
