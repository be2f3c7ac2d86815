// SPDX-License-Identifier: Apache-2.0
// How a device runs at this moment: its clock, its power, and what holds the clock back.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace meshwright::calibrate {

struct DeviceState {
  double clock_mhz = 0.0;                   // of the multiprocessors; 0: not known
  double power_watts = 0.0;                 // 0: not known
  unsigned long long throttle_reasons = 0;  // bits, as NVML's nvmlClocksThrottleReasons
  bool operator==(const DeviceState&) const = default;
};

struct ThrottleReason {
  unsigned long long bit;
  const char* name;
  bool slows;  // the device is kept below the clock that it would have
};
// NVML API reference, nvmlClocksThrottleReasons.
inline constexpr std::array kThrottleReasons{
    ThrottleReason{0x001, "gpu_idle", false},
    ThrottleReason{0x002, "applications_clocks_setting", false},
    ThrottleReason{0x004, "sw_power_cap", true},
    ThrottleReason{0x008, "hw_slowdown", true},
    ThrottleReason{0x010, "sync_boost", true},
    ThrottleReason{0x020, "sw_thermal_slowdown", true},
    ThrottleReason{0x040, "hw_thermal_slowdown", true},
    ThrottleReason{0x080, "hw_power_brake_slowdown", true},
    ThrottleReason{0x100, "display_clock_setting", false}};

// Tells whether a device is throttled. Idling and clocks that the user chose do not count.
constexpr bool is_throttled(unsigned long long reasons) {
  for (const ThrottleReason& reason : kThrottleReasons) {
    if (reason.slows && (reasons & reason.bit) != 0) return true;
  }
  return false;
}

// "sw_power_cap sw_thermal_slowdown"; "none".
inline std::string throttle_names(unsigned long long reasons) {
  std::string names;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((reasons & reason.bit) == 0) continue;
    if (!names.empty()) names += ' ';
    names += reason.name;
  }
  return names.empty() ? "none" : names;
}

// State of several devices: the lowest known clock, the highest power, all reasons.
inline DeviceState combined(const std::vector<DeviceState>& states) {
  DeviceState all;
  for (const DeviceState& s : states) {
    if (s.clock_mhz > 0.0 && (all.clock_mhz <= 0.0 || s.clock_mhz < all.clock_mhz)) {
      all.clock_mhz = s.clock_mhz;
    }
    all.power_watts = std::max(all.power_watts, s.power_watts);
    all.throttle_reasons |= s.throttle_reasons;
  }
  return all;
}

}  // namespace meshwright::calibrate
