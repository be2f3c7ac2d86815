// SPDX-License-Identifier: Apache-2.0
// A group of MPI ranks. Owns its MPI_Comm; buffers are host memory.
#pragma once

#include <mpi.h>

#include <map>
#include <vector>

#include "calibrate/backends/communicator.h"

namespace meshwright::calibrate {

class MpiCommunicator : public Communicator {
 public:
  // Takes `communicator` over and frees it at the end.
  explicit MpiCommunicator(MPI_Comm communicator);
  ~MpiCommunicator() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string host() const override;
  [[nodiscard]] std::unique_ptr<Communicator> split(int color, int key) override;

  void barrier() override;
  void all_reduce(Numbers data, std::int64_t count, Reduction op) override;
  void all_gather(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void reduce_scatter(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void all_to_all(ConstNumbers in, Numbers out, std::int64_t count_per_rank) override;
  void all_to_all_v(ConstNumbers in, const std::vector<std::int64_t>& send_counts, Numbers out,
                    const std::vector<std::int64_t>& receive_counts) override;
  void broadcast(Numbers data, std::int64_t count, int root) override;

  void send(ConstNumbers data, std::int64_t count, int to) override;
  void receive(Numbers data, std::int64_t count, int from) override;
  void wait_sends() override;
  [[nodiscard]] std::size_t finished_sends() override;
  [[nodiscard]] std::size_t start_receive(Numbers data, std::int64_t count, int from) override;
  [[nodiscard]] bool has_arrived(std::size_t receive) override;
  [[nodiscard]] bool receives_alone() const override { return true; }

  void host_broadcast(void* data, std::size_t bytes, int root) override;
  double host_max(double value) override;
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override;

  [[noreturn]] void abort(int exit_code) override;

 private:
  MPI_Comm communicator_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MPI_Request> sends_;
  std::map<std::size_t, MPI_Request> receives_;  // by number, until they were found to be over
  std::size_t next_receive_ = 0;
};

}  // namespace meshwright::calibrate
