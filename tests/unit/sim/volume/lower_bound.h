// SPDX-License-Identifier: Apache-2.0
// What no algorithm can go below, as the mean over the ranks of the group (a single rank may send
// less when others forward for it). All-gather, reduce-scatter and all-to-all: (n-1)/n S.
// All-reduce: 2(n-1)/n S, for it is a reduce-scatter and an all-gather (Patarasuk and Yuan 2009);
// where switches reduce, each rank only hands its array in once, S. Broadcast: (n-1)/n S. Send: S.
#pragma once

#include <algorithm>

#include "sim/volume/volume.h"

namespace meshwright {

inline Bytes lower_bound_sent(const Transfer& transfer, bool in_network_reduction) {
  if (transfer.collective == Collective::broadcast) {
    return bytes_sent(Collective::all_gather, transfer.payload, transfer.group_size);
  }
  const Bytes sent = transfer.sent();
  if (!in_network_reduction || transfer.collective != Collective::all_reduce) return sent;
  return std::min(sent, transfer.payload);
}

}  // namespace meshwright
