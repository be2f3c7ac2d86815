// SPDX-License-Identifier: Apache-2.0
// What rules ask of the devices that a layout is meant for, and of the software on them.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

// 0: any number.
struct Devices {
  int gpus = 0;
  int fast_domain = 0;  // neighbours that NVLink, or what a node has of its kind, joins
  const Framework* framework = nullptr;  // none: software that can do all
  unsigned lacks = 0;                    // bit of each Lack that it has
  bool block_scaling = true;             // Device::block_scaling; unknown devices can do all
  [[nodiscard]] constexpr bool lack(Lack what) const {
    return (lacks >> static_cast<unsigned>(what) & 1U) != 0;
  }
};

inline unsigned lacks_of(const FrameworkLimits& limits) {
  unsigned bits = 0;
  for (const auto& [what, name] : kLackNames) {
    if (limits.lacks(what)) bits |= 1U << static_cast<unsigned>(what);
  }
  return bits;
}

// The cluster must live as long as they do.
inline Devices devices_of(const Cluster& cluster) {
  const bool islands = cluster.gpus_per_island > 0;
  return {cluster.num_gpus(), islands ? cluster.gpus_per_island : cluster.gpus_per_node,
          &cluster.framework, lacks_of(cluster.framework.limits),
          only_device(cluster).block_scaling};
}

}  // namespace meshwright
