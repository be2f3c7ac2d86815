// SPDX-License-Identifier: Apache-2.0
// Functions and numbers as in NVIDIA's NVML API reference; toolkits come without its header.
#include "calibrate/backends/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <optional>

namespace meshwright::calibrate::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kClockSm = 1, kClockMemory = 2;

using Handle = struct NvmlDevice*;

struct ThrottleReason {
  unsigned long long bit;
  const char* name;
};
constexpr std::array kThrottleReasons{ThrottleReason{0x001, "gpu_idle"},
                                      ThrottleReason{0x002, "applications_clocks_setting"},
                                      ThrottleReason{0x004, "sw_power_cap"},
                                      ThrottleReason{0x008, "hw_slowdown"},
                                      ThrottleReason{0x010, "sync_boost"},
                                      ThrottleReason{0x020, "sw_thermal_slowdown"},
                                      ThrottleReason{0x040, "hw_thermal_slowdown"},
                                      ThrottleReason{0x080, "hw_power_brake_slowdown"},
                                      ThrottleReason{0x100, "display_clock_setting"}};

std::string throttle_names(unsigned long long reasons) {
  std::vector<std::string> names;
  for (const ThrottleReason& reason : kThrottleReasons) {
    if ((reasons & reason.bit) != 0) names.emplace_back(reason.name);
  }
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, " "));
}

// The library, open and initialised for as long as this lives.
class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
    ready_ = library_ != nullptr && call("nvmlInit_v2");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (ready_) call("nvmlShutdown");
    if (library_ != nullptr) dlclose(library_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  // False where this library has no such function, or it fails.
  template <typename... Args>
  bool call(const char* name, Args... args) const {
    using Function = int (*)(Args...);
    const auto function = reinterpret_cast<Function>(dlsym(library_, name));
    return function != nullptr && function(args...) == kSuccess;
  }

  std::optional<unsigned> number(const char* name, Handle device) const {
    unsigned value = 0;
    if (!call(name, device, &value)) return std::nullopt;
    return value;
  }
  std::optional<unsigned> clock(const char* name, Handle device, int kind) const {
    unsigned value = 0;
    if (!call(name, device, kind, &value)) return std::nullopt;
    return value;
  }
  // ECC and MIG: what is on now; the second answer is what a reboot would bring.
  std::optional<bool> mode(const char* name, Handle device) const {
    unsigned now = 0, pending = 0;
    if (!call(name, device, &now, &pending)) return std::nullopt;
    return now != 0;
  }

 private:
  void* library_;
  bool ready_ = false;
};

class Details {
 public:
  void megahertz(const char* key, std::optional<unsigned> value) {
    if (value) list_.emplace_back(key, fmt::format("{} MHz", *value));
  }
  void milliwatts(const char* key, std::optional<unsigned> value) {
    if (value) list_.emplace_back(key, fmt::format("{:.0f} W", *value / 1000.0));
  }
  void mode(const char* key, std::optional<bool> on) {
    if (on) list_.emplace_back(key, *on ? "on" : "off");
  }
  void text(const char* key, std::string value) { list_.emplace_back(key, std::move(value)); }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(list_); }

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

}  // namespace

std::vector<std::pair<std::string, std::string>> nvml_details(const std::string& pci_bus_id) {
  const Nvml nvml;
  Handle device = nullptr;
  if (!nvml.ready() ||
      !nvml.call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device)) {
    return {};
  }
  Details details;
  std::array<char, 96> version{};
  if (nvml.call("nvmlSystemGetDriverVersion", version.data(), unsigned{version.size()})) {
    details.text("driver", version.data());
  }
  details.megahertz("sm_clock", nvml.clock("nvmlDeviceGetClockInfo", device, kClockSm));
  details.megahertz("sm_clock_max", nvml.clock("nvmlDeviceGetMaxClockInfo", device, kClockSm));
  details.megahertz("memory_clock", nvml.clock("nvmlDeviceGetClockInfo", device, kClockMemory));
  details.milliwatts("power_limit", nvml.number("nvmlDeviceGetEnforcedPowerLimit", device));
  unsigned long long reasons = 0;
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    details.text("throttle_reasons", throttle_names(reasons));
  }
  details.mode("ecc", nvml.mode("nvmlDeviceGetEccMode", device));
  details.mode("mig", nvml.mode("nvmlDeviceGetMigMode", device));
  return details.take();
}

}  // namespace meshwright::calibrate::cuda
