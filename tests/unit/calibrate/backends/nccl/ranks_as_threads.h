// SPDX-License-Identifier: Apache-2.0
// Ranks as threads of one process, which meet over the loopback.
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "calibrate/backends/nccl/socket_ranks.h"

namespace meshwright::calibrate {

// One that nobody listens on now.
inline std::uint16_t free_port() { return port_of(open_listener(0)); }

inline void on_ranks(int size, const std::function<void(SocketRanks&)>& work,
                     const std::string& address = "127.0.0.1") {
  const MeetingPoint point{.address = address, .port = free_port()};
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] { work(*SocketRanks::meet(rank, size, point)); });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace meshwright::calibrate
