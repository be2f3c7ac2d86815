// SPDX-License-Identifier: Apache-2.0
// The model of a collective where nothing was measured: latency per step + bytes / bandwidth + a
// ramp for medium messages that have not filled the pipeline.
//
// One node (or one island of it), ring: base + steps * latency + busbw bytes / (bandwidth *
// fraction) + ramp; all-reduce also in the switch (NVLS) from sharp_min_group ranks. Several nodes:
// the fastest of ring and tree (all-reduce) over the protocols that NCCL has for them (latencies
// per hop and bandwidth shares of src/graph/tuning.cc). Their bus bandwidth is the smaller of the
// ring inside the node and the group's share of NICs and up-links, by max-min fair shares over the
// graph (traffic.h). GTC24 S62129: 192 GB/s on 8 x 200 Gb/s, 370 on 8 x 400.
#pragma once

#include <string_view>

#include "sim/base/units.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"

namespace meshwright {

Seconds collective_model_time(Collective collective, Bytes payload, const Placement& placement,
                              const Cluster& cluster);
// The algorithm whose time that is: "ring", "tree", "NVLS" (NVLink SHARP: the switch reduces) or
// "point-to-point" (grouped sends and receives). Empty where nothing moves.
std::string_view collective_algorithm(Collective collective, Bytes payload,
                                      const Placement& placement, const Cluster& cluster);

// Bus bandwidth of one group's ring over nodes when all groups of its axis run at once, of what the
// NICs sustain: a rail for each member on its emptiest node, no more than its PCIe links carry, its
// share of the node's NICs, and its share of the switches' up-links. Each hop of a ring that leaves
// a leaf takes the up-link; of an all-to-all the part that goes to other leaves does.
BytesPerSecond nic_share(Collective collective, const Placement& placement, const Cluster& cluster);

}  // namespace meshwright
