// SPDX-License-Identifier: Apache-2.0
// What the calibrator and the trial ask of a network: a group of ranks and its collectives.
//
// Buffers are device pointers of the compute backend that the communicator belongs to (cpu with
// mpi, cuda with nccl). Counts are of numbers; those of one call all have one format. Calls block
// until the buffers may be reused, unless they say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/backends/host_ranks.h"
#include "calibrate/backends/numbers.h"

namespace meshwright::calibrate {

enum class Reduction { sum, max };
inline constexpr int kNoGroup = -1;

// One side of a message between two ranks: exactly one of the pointers is set.
struct Message {
  ConstNumbers from_here;  // of a send
  Numbers to_here;         // of a receive
  std::int64_t count = 0;
  int peer = 0;

  [[nodiscard]] bool is_send() const { return to_here.data == nullptr; }
  [[nodiscard]] Precision format() const { return is_send() ? from_here.format : to_here.format; }
};

class Communicator : public HostRanks {
 public:
  // Does the same as split_ranks, of which it is the whole. A rank of color kNoGroup takes part in
  // the call and gets nothing, so an unused group takes no device memory.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
  [[nodiscard]] std::unique_ptr<HostRanks> split_ranks(int color, int key) final {
    return split(color, key);
  }

  // A barrier of the hosts alone: unlike barrier(), it does not wait for a device, whose queue may
  // be held.
  virtual void host_barrier() { host_max(0.0); }

  // In place. Numbers of 16 bits are only summed, and rounded after each addition.
  virtual void all_reduce(Numbers data, std::int64_t count, Reduction op) = 0;
  virtual void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) = 0;
  virtual void reduce_scatter(ConstNumbers in, Numbers out,
                              std::int64_t count_per_rank) = 0;  // sum
  virtual void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) = 0;
  // Sends and receives any numbers of values to and from each rank, stored without gaps.
  virtual void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts,
                            Numbers out, const std::vector<std::int64_t>& receive_counts) = 0;
  virtual void broadcast(Numbers data, std::int64_t count, int root) = 0;

  // Point to point. send returns at once and keeps reading `data` until wait_sends().
  virtual void send(ConstNumbers data, std::int64_t count, int to) = 0;
  virtual void receive(Numbers data, std::int64_t count, int from) = 0;
  virtual void wait_sends() = 0;
  // Number of the oldest sends that finished since the last call; their buffers are free. 0 if this
  // is only known after wait_sends().
  [[nodiscard]] virtual std::size_t finished_sends() { return 0; }
  // All of them at once: none waits for another. Two ranks list the messages between them in the
  // same order.
  virtual void exchange(std::span<const Message> messages) {
    for (const Message& m : messages) {
      if (m.is_send()) send(m.from_here, m.count, m.peer);
    }
    for (const Message& m : messages) {
      if (!m.is_send()) receive(m.to_here, m.count, m.peer);
    }
    wait_sends();
  }
  // Starts sends that are only noted (QueuedCommunicator), without a wait.
  virtual void start_sends() {}
  // A receive that goes on beside what this rank does. Returns its number for has_arrived(); until
  // that says so once, `data` is the network's. A network that knows no such receive waits here.
  [[nodiscard]] virtual std::size_t start_receive(Numbers data, std::int64_t count, int from) {
    receive(data, count, from);
    return 0;
  }
  [[nodiscard]] virtual bool has_arrived(std::size_t /*receive*/) { return true; }
  // start_receive() returns at once.
  [[nodiscard]] virtual bool receives_alone() const { return false; }
  // A send goes through while this rank waits for other messages, before wait_sends().
  [[nodiscard]] virtual bool sends_alone() const { return true; }

  // Tells whether a collective is over when its call returns. Else it may run while the host goes
  // on.
  [[nodiscard]] virtual bool calls_block() const { return true; }
  // From now on collectives do not wait for what the compute backend was asked, nor that for them;
  // wait_beside_compute() ends them. To measure what both cost at once.
  virtual void run_beside_compute(bool /*beside*/) {}
  virtual void wait_beside_compute() {}

  // Algorithm that the library chose for the last collective ("ring simple"); empty if it does not
  // state one.
  [[nodiscard]] virtual std::string chosen_algorithm() const { return ""; }
};

}  // namespace meshwright::calibrate
