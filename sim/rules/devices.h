// SPDX-License-Identifier: Apache-2.0
// What rules ask of the devices that a layout is meant for.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

// 0: any number.
struct Devices {
  int gpus = 0;
  int fast_domain = 0;  // neighbours that NVLink, or what a node has of its kind, joins
};
inline Devices devices_of(const Cluster& cluster) {
  const bool islands = cluster.gpus_per_island > 0;
  return {cluster.num_gpus(), islands ? cluster.gpus_per_island : cluster.gpus_per_node};
}

}  // namespace meshwright
