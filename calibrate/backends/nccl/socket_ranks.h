// SPDX-License-Identifier: Apache-2.0
// Ranks that meet over TCP, where no MPI started them: torchrun names rank 0's host and each rank's
// number in the environment, and that is all that NCCL's start needs.
//
// Rank 0 of a group listens, the others connect to it, and every exchange is a gather through it:
// small values, seldom. Barriers of many ranks go directly from rank to rank (socket_barrier.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/host_ranks.h"

namespace meshwright::calibrate {

class SocketBarrier;

// An open file descriptor of a socket.
class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
  Socket& operator=(Socket&& other) noexcept;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

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

 private:
  SocketRanks(int rank, int size, std::string address);
  static std::unique_ptr<SocketRanks> listen_for(const Socket& listener, int size,
                                                 const MeetingPoint& point);
  static std::unique_ptr<SocketRanks> connect_to(int rank, int size, const MeetingPoint& point);

  int rank_, size_;
  std::string address_;        // of this rank, as others reach it
  std::vector<Socket> peers_;  // of rank 0: by rank, its own unused; else: rank 0 alone
  bool asked_for_barrier_ = false;
  std::unique_ptr<SocketBarrier> barrier_;  // of many ranks that reach each other
};

// Connects the ranks by torchrun's variables RANK, WORLD_SIZE and MASTER_ADDR. torchrun itself
// listens on MASTER_PORT; the ranks use the next port, or MESHWRIGHT_PORT.
std::unique_ptr<SocketRanks> meet_as_torchrun_says();

}  // namespace meshwright::calibrate
