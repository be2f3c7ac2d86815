// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/host.h"

#include <algorithm>
#include <cmath>

namespace meshwright {

Seconds host_time(Seconds launching, Seconds device) {
  const Seconds longer = std::max(launching, device);
  if (longer == seconds(0)) return {};
  const double ratio = std::min(launching, device) / longer;
  return longer * std::cbrt(1.0 + ratio * ratio * ratio) - device;
}

}  // namespace meshwright
