// SPDX-License-Identifier: Apache-2.0
// What the calibrator and the trial ask of a network: a group of ranks and its collectives.
//
// Buffers are device pointers of the compute backend that the communicator belongs to (cpu with
// mpi, cuda with nccl). Counts are elements of fp32. Calls block until the buffers may be reused,
// unless they say so.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "calibrate/backends/host_ranks.h"

namespace meshwright::calibrate {

enum class Reduction { sum, max };

class Communicator : public HostRanks {
 public:
  // As split_ranks, of which it is the whole.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key) = 0;
  [[nodiscard]] std::unique_ptr<HostRanks> split_ranks(int color, int key) final {
    return split(color, key);
  }

  virtual void all_reduce(float* data, std::int64_t count, Reduction op) = 0;  // in place
  virtual void all_gather(const float* in, float* out, std::int64_t count_per_rank) = 0;
  virtual void reduce_scatter(const float* in, float* out, std::int64_t count_per_rank) = 0;  // sum
  virtual void all_to_all(const float* in, float* out, std::int64_t count_per_rank) = 0;
  virtual void broadcast(float* data, std::int64_t count, int root) = 0;

  // Point to point. send returns at once and keeps reading `data` until wait_sends().
  virtual void send(const float* data, std::int64_t count, int to) = 0;
  virtual void receive(float* data, std::int64_t count, int from) = 0;
  virtual void wait_sends() = 0;
  // A send goes through while this rank waits for other messages, before wait_sends().
  [[nodiscard]] virtual bool sends_alone() const { return true; }

  // Whether a collective is over when its call returns. Else it may run while the host goes on.
  [[nodiscard]] virtual bool calls_block() const { return true; }
  // From now on collectives do not wait for what the compute backend was asked, nor that for them;
  // wait_beside_compute() ends them. To measure what both cost at once.
  virtual void run_beside_compute(bool /*beside*/) {}
  virtual void wait_beside_compute() {}

  // What the library chose for the last collective ("ring simple"); empty where it does not say.
  [[nodiscard]] virtual std::string chosen_algorithm() const { return ""; }
};

}  // namespace meshwright::calibrate
