// SPDX-License-Identifier: Apache-2.0
// One collective of one size over one group. Payload as nccl-tests counts it: the whole array of an
// all-reduce, all-gather, reduce-scatter or all-to-all, the message of a broadcast or send.
// send_recv goes there and back between the group's two ranks; its time is half of that.
#pragma once

#include <memory>

#include "calibrate/backends/communicator.h"
#include "calibrate/bench/bench.h"
#include "sim/hardware/cluster.h"

namespace meshwright::calibrate {

// `cold`: messages in turn, so that none lies in a cache any more when it is sent. An all-reduce of
// 4 MiB over two ranks of a machine took 0.4 ms from the cache and 1.2 ms from memory.
std::unique_ptr<Bench> make_collective_bench(Compute& compute, Communicator& group,
                                             Collective collective, Bytes payload, bool cold);

}  // namespace meshwright::calibrate
