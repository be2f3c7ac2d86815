// SPDX-License-Identifier: Apache-2.0
// A group of GPUs, one a rank. Buffers are device memory; MPI, or sockets where there is none,
// carry what lives on the host.
//
// Collectives are put on the rank's one stream (backends/cuda/stream.h) and return: whatever the
// compute backend is asked later runs after them, so buffers may be reused at once, and
// Compute::synchronize() waits for them too. barrier() waits for the stream first.
#pragma once

#include <nccl.h>

#include <memory>

#include "calibrate/backends/cuda/stream.h"
#include "calibrate/backends/queued_communicator.h"

namespace meshwright::calibrate {

class NcclCommunicator : public QueuedCommunicator {
 public:
  // Takes both over; they hold the same ranks in the same order.
  NcclCommunicator(std::unique_ptr<HostRanks> host, ncclComm_t device);
  ~NcclCommunicator() override;

  [[nodiscard]] int rank() const override { return host_->rank(); }
  [[nodiscard]] int size() const override { return host_->size(); }
  [[nodiscard]] std::string host() const override { return host_->host(); }
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override;

  void barrier() override;
  void host_barrier() override;
  void all_reduce(Numbers data, std::int64_t count, Reduction op) override;
  void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts, Numbers out,
                    const std::vector<std::int64_t>& receive_counts) override;
  void broadcast(Numbers data, std::int64_t count, int root) override;

  void wait_sends() override;

  [[nodiscard]] bool calls_block() const override { return false; }
  [[nodiscard]] std::string chosen_algorithm() const override;
  void run_beside_compute(bool beside) override;
  void wait_beside_compute() override;

  void host_broadcast(void* data, std::size_t bytes, int root) override;
  double host_max(double value) override;
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override;

  [[noreturn]] void abort(int exit_code) override;

 private:
  void start(std::span<const Message> group) override;

  std::unique_ptr<HostRanks> host_;
  ncclComm_t device_;
  cudaStream_t stream_ = cuda::kStream;  // the rank's one stream but while an overlap is measured
};

}  // namespace meshwright::calibrate
