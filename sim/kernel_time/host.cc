// SPDX-License-Identifier: Apache-2.0
#include "sim/kernel_time/host.h"

#include <algorithm>
#include <cmath>

namespace meshwright {

Seconds overlapped(Seconds a, Seconds b) {
  const Seconds longer = std::max(a, b);
  if (longer == seconds(0)) return {};
  const double ratio = std::min(a, b) / longer;
  return longer * std::cbrt(1.0 + ratio * ratio * ratio);
}

Seconds host_time(Seconds launching, Seconds device) {
  return overlapped(launching, device) - device;
}

}  // namespace meshwright
