// SPDX-License-Identifier: Apache-2.0
// Noun for one device of a cluster in texts: GPU or core.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/hardware/cluster.h"

namespace meshwright {

// "GPU", "GPUs", "core" or "cores".
constexpr std::string_view device_noun(DeviceKind kind, std::int64_t count = 1) {
  if (kind == DeviceKind::cpu) return count == 1 ? "core" : "cores";
  return count == 1 ? "GPU" : "GPUs";
}
std::string_view device_noun(const Cluster& cluster, std::int64_t count = 1);

// Returns one of our own fixed texts, written for GPUs, with "core" in place of each "GPU" where
// the devices are cores. Text with names from a user's file does not belong here.
std::string with_device_noun(std::string_view text, DeviceKind kind);
std::string with_device_noun(std::string_view text, const Cluster& cluster);

}  // namespace meshwright
