// SPDX-License-Identifier: Apache-2.0
// Ranks that meet over TCP, where no MPI started them: torchrun names rank 0's host and each rank's
// number in the environment, and that is all that NCCL's start needs.
//
// Rank 0 of a group listens, the others connect to it, and every exchange is a gather through it:
// small values, seldom. Barriers of many ranks go directly from rank to rank (socket_barrier.h).
//
// Addresses: a host's own name may resolve to 127.0.1.1 on it (Debian, Ubuntu), where no other host
// gets to. A rank therefore offers the address from which it reached rank 0. Where that is a
// loopback address, it is on rank 0's host, and each rank takes the address at which it reached
// rank 0 itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/host_ranks.h"
#include "calibrate/backends/nccl/sockets.h"

namespace meshwright::calibrate {

class SocketBarrier;

struct MeetingPoint {
  std::string address;     // of rank 0: a name or a number
  std::uint16_t port = 0;  // that it listens on
  std::chrono::seconds patience{60};
};

class SocketRanks final : public HostRanks {
 public:
  // Waits until all `size` ranks have come. Throws SystemError when they do not in time.
  static std::unique_ptr<SocketRanks> meet(int rank, int size, const MeetingPoint& point);

  ~SocketRanks() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] std::string host() const override { return host_name(); }
  [[nodiscard]] std::unique_ptr<HostRanks> split_ranks(int color, int key) override;
  void barrier() override;
  void host_broadcast(void* data, std::size_t bytes, int root) override;
  double host_max(double value) override;
  void host_gather(const void* in, void* out, std::size_t bytes_per_rank) override;
  [[noreturn]] void abort(int exit_code) override;

  // Barriers go from rank to rank. Known from the first one on.
  [[nodiscard]] bool has_direct_barrier() const { return barrier_ != nullptr; }

 private:
  SocketRanks(int rank, int size, std::string address, std::string first);
  static std::unique_ptr<SocketRanks> listen_for(const Socket& listener, int size,
                                                 const MeetingPoint& point);
  static std::unique_ptr<SocketRanks> connect_to(int rank, int size, const MeetingPoint& point);

  int rank_, size_;
  std::string address_;        // of this rank, as it sees itself
  std::string first_;          // of rank 0, as this rank reached it
  std::vector<Socket> peers_;  // of rank 0: by rank, its own unused; else: rank 0 alone
  bool asked_for_barrier_ = false;
  std::unique_ptr<SocketBarrier> barrier_;  // of many ranks that reach each other
};

// Connects the ranks by torchrun's variables RANK, WORLD_SIZE and MASTER_ADDR. torchrun itself
// listens on MASTER_PORT; the ranks use the next port, or MESHWRIGHT_PORT. Throws SystemError where
// variables are missing.
std::unique_ptr<SocketRanks> meet_as_torchrun_says();

}  // namespace meshwright::calibrate
