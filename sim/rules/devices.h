// SPDX-License-Identifier: Apache-2.0
// Properties of devices and software that rules read.
#pragma once

#include "sim/hardware/cluster.h"

namespace meshwright {

// 0: any number.
struct Devices {
  int gpus = 0;
  int fast_domain = 0;                   // Cluster::fast_domain()
  const Framework* framework = nullptr;  // none: software that can do all
  UnsupportedBits lacks = 0;         // features that the software, the devices or their links lack
  bool block_scaling = true;         // Device::block_scaling; unknown devices can do all
  unsigned formats = ~0U;            // bit of each Precision (formats_of); unknown: all
  const Cluster* cluster = nullptr;  // whose limits say why
  UnsupportedBits unproven = 0;      // features that are unproven over the links; no rule reads it
  [[nodiscard]] constexpr bool lack(Unsupported what) const {
    return (lacks & lack_bit(what)) != 0;
  }
};

// The cluster must live as long as they do.
inline Devices devices_of(const Cluster& cluster) {
  return {cluster.num_gpus(),
          cluster.fast_domain(),
          &cluster.framework,
          cluster.lacks(),
          only_device(cluster).block_scaling,
          formats_of(only_device(cluster)),
          &cluster,
          cluster.unproven.bits()};
}

}  // namespace meshwright
