// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/device_noun.h"

#include "sim/base/text.h"

namespace meshwright {

std::string_view device_noun(const Cluster& cluster, std::int64_t count) {
  return device_noun(only_device(cluster).kind, count);
}

std::string with_device_noun(std::string_view text, DeviceKind kind) {
  return replaced(text, device_noun(DeviceKind::gpu), device_noun(kind));
}

std::string with_device_noun(std::string_view text, const Cluster& cluster) {
  return with_device_noun(text, only_device(cluster).kind);
}

}  // namespace meshwright
