// SPDX-License-Identifier: Apache-2.0
// How large a host can be, and what stands in a rack that one NVLink domain joins.
#pragma once

namespace meshwright::interop {

// An NVLink domain of more devices than a host holds is a rack of trays with four each (GB200 and
// GB300 NVL72).
inline constexpr int kMostOfAHost = 16;
inline constexpr int kDevicesOfATray = 4;

}  // namespace meshwright::interop
