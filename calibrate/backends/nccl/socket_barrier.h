// SPDX-License-Identifier: Apache-2.0
// A barrier over sockets in ceil(log2 n) rounds, all ranks alike (dissemination: Hensgen, Finkel
// and Manber 1988). In round r a rank tells rank + 2^r, and hears from rank - 2^r, that it has
// come. Through one rank in the middle the last of n ranks leaves n writes after the first.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/backends/nccl/socket_ranks.h"

namespace meshwright::calibrate {

// Rounds of a barrier over so many ranks.
int barrier_rounds(int ranks);

class SocketBarrier {
 public:
  // Collective over `ranks`. `address`: of this rank, as it sees itself; `first`: of rank 0, as
  // this rank reached it (reachable_address()). Null, on all ranks, where two that have to talk
  // cannot reach each other within `patience`.
  static std::unique_ptr<SocketBarrier> connect(HostRanks& ranks, const std::string& address,
                                                const std::string& first,
                                                std::chrono::seconds patience);

  // Returns when all ranks have come. Throws SystemError when one of them is gone.
  void wait();

 private:
  std::vector<Socket> to_, from_;  // by round
};

}  // namespace meshwright::calibrate
