// SPDX-License-Identifier: Apache-2.0
// Devices, the links between them, and how many of each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/hardware/device.h"
#include "sim/hardware/framework.h"
#include "sim/units.h"

namespace meshwright {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };

// Which wire a group's traffic is limited by.
enum class Tier { self, intra_node, inter_node };

struct CollectivePoint {
  Bytes payload;  // size of the whole array, as nccl-tests counts it
  Seconds time;   // median of the slowest rank
  double relative_spread = 0.0;
};

// One measured sweep: a collective over group_size ranks of one tier. Points sorted by payload.
struct CollectiveCurve {
  Collective collective = Collective::all_reduce;
  int group_size = 2;
  std::vector<CollectivePoint> points;
};

struct Link {
  std::string name;                 // "NVLink 4", "InfiniBand NDR", "shared memory"
  BytesPerSecond bandwidth;         // per device and direction; inter-node: NIC share of one device
  double bandwidth_fraction = 0.8;  // of it, reached by large collectives in large groups
  double ring_end_cost =
      0.0;  // bytes take 1 + ring_end_cost / group as long (all-reduce: half of it)
  double sharp_bandwidth_fraction =
      0.0;                  // all-reduce busbw / bandwidth with in-switch reduction; 0: none
  int sharp_min_group = 0;  // smallest group that uses it
  Seconds base_latency;     // once a call: launch and protocol set-up
  Seconds latency;          // one step of a ring or tree, including the software above it
  // Medium messages have not filled the pipeline: up to ramp_latency * log2(group) more, half of it
  // at ramp_bytes * log2(group).
  Seconds ramp_latency;
  Bytes ramp_bytes;
  Provenance provenance = Provenance::datasheet;
  double relative_spread = 0.15;
  std::vector<CollectiveCurve> curves;  // measured; override the link model near themselves
};

struct Cluster {
  std::string name;
  std::string source;
  Device device;
  int gpus_per_node = 8;
  int num_nodes = 1;
  Link intra_node;
  Link inter_node;
  int nics_per_node = 0;    // 0: one per device
  int nodes_per_leaf = 32;  // nodes below one leaf switch (of each rail)
  double spine_oversubscription =
      1.0;                          // leaf ports down / up; slows groups of more nodes than that
  double price_per_gpu_hour = 0.0;  // 0: not stated
  Framework framework;              // what the training software adds

  [[nodiscard]] int num_gpus() const { return gpus_per_node * num_nodes; }
};

// The same node type with `gpus` devices: a part of one node, or as many whole nodes as are needed.
// Throws InputError when gpus > gpus_per_node and is no multiple of it.
Cluster scaled_to(Cluster cluster, int gpus);

}  // namespace meshwright
