// SPDX-License-Identifier: Apache-2.0
// The model of a collective where nothing was measured: latency per step + bytes / bandwidth + a
// ramp for medium messages that have not filled the pipeline.
//
// One node: base + steps * latency + busbw bytes / (bandwidth * fraction) + ramp, ring; all-reduce
// also in the switch (NVLS) from sharp_min_group ranks. Several nodes: the bus bandwidth is that of
// the narrower of the ring inside the node and the group's share of NICs (GTC24 S62129: 192 GB/s on
// 8 x 200 Gb/s, 370 on 8 x 400); latency by tree (all-reduce) or ring, whichever is faster
// (NCCL src/graph/tuning.cc composes its own estimate likewise).
#pragma once

#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"
#include "sim/units.h"

namespace meshwright {

Seconds collective_model_time(Collective collective, Bytes payload, const Placement& placement,
                              const Cluster& cluster);

// What one group gets of a node's NICs: no more than a NIC for each of its ranks there, no more
// than its share among the groups that are active at once; less when it crosses an oversubscribed
// spine.
BytesPerSecond nic_share(const Placement& placement, const Cluster& cluster);

}  // namespace meshwright
