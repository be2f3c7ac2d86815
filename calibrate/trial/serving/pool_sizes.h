// SPDX-License-Identifier: Apache-2.0
// Ranks of a prefill and a decode pool: replica by replica, the prefill pool first. Requests go
// round in each pool, as in the event simulation (sim/serving/simulation.h).
#pragma once

namespace meshwright::calibrate {

struct PoolPlace {
  bool prefill = true;
  int replica = 0;  // of its pool
  int rank = 0;     // of the replica
  bool operator==(const PoolPlace&) const = default;
};

struct PoolSizes {
  int prefill_replicas = 1, prefill_ranks = 1;  // of one replica
  int decode_replicas = 1, decode_ranks = 1;
  [[nodiscard]] int replicas() const { return prefill_replicas + decode_replicas; }
  [[nodiscard]] int first_prefill(int replica) const { return replica * prefill_ranks; }
  [[nodiscard]] int first_decode(int replica) const {
    return prefill_replicas * prefill_ranks + replica * decode_ranks;
  }
  [[nodiscard]] int ranks() const { return first_decode(decode_replicas); }
  // Of one of the ranks.
  [[nodiscard]] PoolPlace place(int rank) const {
    const int decode = rank - first_decode(0);
    if (decode < 0) return {true, rank / prefill_ranks, rank % prefill_ranks};
    return {false, decode / decode_ranks, decode % decode_ranks};
  }
};

}  // namespace meshwright::calibrate
