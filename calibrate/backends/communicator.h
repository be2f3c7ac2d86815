// SPDX-License-Identifier: Apache-2.0
// What the calibrator and the trial ask of a network: a group of ranks and its collectives.
//
// Buffers are device pointers of the compute backend that the communicator belongs to (cpu with
// mpi, cuda with nccl). Counts are elements of fp32. Calls block until the buffers may be reused,
// unless they say so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace meshwright::calibrate {

enum class Reduction { sum, max };

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual std::string host() const = 0;  // of this rank
  // Ranks of the same color form a group, ordered by key. Collective over this communicator.
  [[nodiscard]] virtual std::unique_ptr<Communicator> split(int color, int key) = 0;

  virtual void barrier() = 0;
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

  // Host-side values, for clocks and decisions; small.
  virtual void host_broadcast(void* data, std::size_t bytes, int root) = 0;
  virtual double host_max(double value) = 0;
  virtual void host_gather(const void* in, void* out,
                           std::size_t bytes_per_rank) = 0;  // to every rank

  // Ends every rank of the job, now, with this exit code.
  [[noreturn]] virtual void abort(int exit_code) = 0;
};

}  // namespace meshwright::calibrate
