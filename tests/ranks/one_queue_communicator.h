// SPDX-License-Identifier: Apache-2.0
// NCCL's semantics on one stream, over MPI: calls of a rank start in the order in which they were
// made, each waits for the other ranks' matching calls, and nothing that comes later starts before.
// What deadlocks on GPUs deadlocks here; a call that waits for five minutes ends the test program
// and says so.
//
// Messages must be larger than MPI's eager limit (512 bytes, CMakeLists.txt), below which a send
// does not wait for its receiver.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "calibrate/backends/queued_communicator.h"

namespace meshwright::calibrate {

class OneQueueCommunicator final : public QueuedCommunicator {
 public:
  explicit OneQueueCommunicator(std::unique_ptr<Communicator> ranks) : ranks_(std::move(ranks)) {}

  [[nodiscard]] int rank() const override { return ranks_->rank(); }
  [[nodiscard]] int size() const override { return ranks_->size(); }
  [[nodiscard]] std::string host() const override { return ranks_->host(); }
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override {
    auto part = ranks_->split(color, key);
    if (part == nullptr) return nullptr;
    return std::make_unique<OneQueueCommunicator>(std::move(part));
  }
  void barrier() override {
    in_turn([&] {});
  }
  void all_reduce(Numbers data, std::int64_t count, Reduction op) override {
    in_turn([&] { ranks_->all_reduce(data, count, op); });
  }
  void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    in_turn([&] { ranks_->all_gather(in, out, count_per_rank); });
  }
  void reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    in_turn([&] { ranks_->reduce_scatter(in, out, count_per_rank); });
  }
  void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override {
    in_turn([&] { ranks_->all_to_all(in, out, count_per_rank); });
  }
  void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts, Numbers out,
                    const std::vector<std::int64_t>& receive_counts) override {
    in_turn([&] { ranks_->all_to_all_v(in, send_counts, out, receive_counts); });
  }
  void broadcast(Numbers data, std::int64_t count, int root) override {
    in_turn([&] { ranks_->broadcast(data, count, root); });
  }
  void wait_sends() override { start_noted(); }

  void host_broadcast(void* data, std::size_t bytes, int root) override {
    ranks_->host_broadcast(data, bytes, root);
  }
  double host_max(double value) override { return ranks_->host_max(value); }
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override {
    ranks_->host_gather(in, out, bytes_per_rank);
  }
  [[noreturn]] void abort(int exit_code) override {
    ranks_->abort(exit_code);
    std::_Exit(exit_code);
  }

 private:
  class Deadline {
   public:
    Deadline() {
      std::signal(SIGALRM, [](int) {
        constexpr std::string_view kText = "one_queue: a call between ranks waited for 300 s\n";
        [[maybe_unused]] const auto written = write(STDERR_FILENO, kText.data(), kText.size());
        std::_Exit(1);
      });
      alarm(kSeconds);
    }
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;
    ~Deadline() { alarm(0); }

   private:
    static constexpr unsigned kSeconds = 300;
  };

  template <typename Call>
  void in_turn(const Call& call) {
    start_noted();
    const Deadline deadline;
    ranks_->barrier();  // no rank goes on before all have come
    call();
  }

  void start(std::span<const Message> group) override {
    const Deadline deadline;
    for (const Message& m : group) {
      if (!m.is_send()) continue;
      constexpr std::int64_t kEagerLimit = 512;
      if (m.count * static_cast<std::int64_t>(size_of_number(m.format())) <= kEagerLimit) {
        throw std::logic_error("a message this small would not wait for its receiver");
      }
      ranks_->send(m.from_here, m.count, m.peer);
    }
    for (const Message& m : group) {
      if (!m.is_send()) ranks_->receive(m.to_here, m.count, m.peer);
    }
    ranks_->wait_sends();
  }

  std::unique_ptr<Communicator> ranks_;
};

}  // namespace meshwright::calibrate
