// SPDX-License-Identifier: Apache-2.0
// A replica whose steps can be worked out on paper: base + rows * each, nothing for attention.
#pragma once

#include "sim/serving/scheduler.h"

namespace meshwright::test {

// Cache: bytes of one token are 1.
inline ServingReplica plain_replica(Seconds base, Seconds each, double cache_tokens = 1e9) {
  ServingReplica replica;
  std::array<double, RowTable::kPoints> values{};
  for (int i = 0; i < RowTable::kPoints; ++i) {
    values[static_cast<std::size_t>(i)] = base.value() + each.value() * RowTable::rows_of(i);
  }
  replica.cost.linears = RowTable(values);
  replica.cost.eager = true;
  replica.cost.memory_bandwidth = bytes_per_second(1);
  replica.cost.device_peak = flops_per_second(1);
  replica.memory.kv_cache = bytes(cache_tokens);
  replica.memory.sequence.full_token = bytes(1);
  replica.memory.sequence.block_size = 1;
  replica.rule.block_size = 1;
  replica.rule.overlapped = false;
  replica.rule.request = {};
  return replica;
}

}  // namespace meshwright::test
