// SPDX-License-Identifier: Apache-2.0
// Functions and numbers as in NVIDIA's NVML API reference; toolkits come without its header.
#include "calibrate/backends/cuda/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

namespace meshwright::calibrate::cuda {
namespace {

constexpr int kSuccess = 0;
constexpr int kClockSm = 1, kClockMemory = 2;
constexpr int kCapsNvlink = 2;  // of nvmlGpuP2PCapsIndex_t
constexpr unsigned kMostNvlinks = 18, kMostDevices = 16;
constexpr unsigned long long kKnownReasons = 0x1FF;

using Handle = struct NvmlDevice*;

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
  void text(const char* key, std::string value) {
    if (!value.empty()) list_.emplace_back(key, std::move(value));
  }
  std::vector<std::pair<std::string, std::string>> take() { return std::move(list_); }

 private:
  std::vector<std::pair<std::string, std::string>> list_;
};

}  // namespace

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
  // NVLinks of a device that are up.
  unsigned nvlinks(Handle device) const {
    unsigned up = 0;
    for (unsigned link = 0; link < kMostNvlinks; ++link) {
      unsigned active = 0;
      if (call("nvmlDeviceGetNvLinkState", device, link, &active) && active != 0) ++up;
    }
    return up;
  }
  std::string connection(Handle a, Handle b) const {
    int status = -1, level = -1;
    const bool by_nvlink =
        call("nvmlDeviceGetP2PStatus", a, b, kCapsNvlink, &status) && status == 0;
    call("nvmlDeviceGetTopologyCommonAncestor", a, b, &level);
    return connection_name(by_nvlink, by_nvlink ? nvlinks(a) : 0, level);
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

NvmlDevice::NvmlDevice(const std::string& pci_bus_id) : nvml_(std::make_unique<Nvml>()) {
  Handle device = nullptr;
  if (nvml_->ready() &&
      nvml_->call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device)) {
    device_ = device;
  }
}

NvmlDevice::~NvmlDevice() = default;

DeviceState NvmlDevice::state() const {
  DeviceState state;
  if (device_ == nullptr) return state;
  const Handle device = static_cast<Handle>(device_);
  state.clock_mhz = nvml_->clock("nvmlDeviceGetClockInfo", device, kClockSm).value_or(0);
  state.power_watts = nvml_->number("nvmlDeviceGetPowerUsage", device).value_or(0) / 1000.0;
  unsigned long long reasons = 0;
  if (nvml_->call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    state.throttle_reasons = reasons & kKnownReasons;
  }
  return state;
}

// A row a GPU of the node: what joins it with each of them.
std::string NvmlDevice::topology() const {
  unsigned count = 0;
  if (!nvml_->call("nvmlDeviceGetCount_v2", &count)) return "";
  std::vector<Handle> all(std::min(count, kMostDevices));
  for (unsigned i = 0; i < all.size(); ++i) {
    if (!nvml_->call("nvmlDeviceGetHandleByIndex_v2", i, &all[i])) return "";
  }
  std::vector<std::string> rows;
  for (const Handle a : all) {
    std::vector<std::string> row;
    for (const Handle b : all) row.push_back(a == b ? "X" : nvml_->connection(a, b));
    rows.push_back(fmt::format("{}", fmt::join(row, " ")));
  }
  return fmt::format("{}", fmt::join(rows, "; "));
}

std::vector<std::pair<std::string, std::string>> NvmlDevice::details() const {
  if (device_ == nullptr) return {};
  const Handle device = static_cast<Handle>(device_);
  const Nvml& nvml = *nvml_;
  Details details;
  std::array<char, 96> version{};
  if (nvml.call("nvmlSystemGetDriverVersion", version.data(), unsigned{version.size()})) {
    details.text("driver", version.data());
  }
  details.megahertz("sm_clock", nvml.clock("nvmlDeviceGetClockInfo", device, kClockSm));
  details.megahertz("sm_clock_max", nvml.clock("nvmlDeviceGetMaxClockInfo", device, kClockSm));
  details.megahertz("memory_clock", nvml.clock("nvmlDeviceGetClockInfo", device, kClockMemory));
  details.milliwatts("power_limit", nvml.number("nvmlDeviceGetEnforcedPowerLimit", device));
  details.text("throttle_reasons", throttle_names(state().throttle_reasons));
  details.mode("ecc", nvml.mode("nvmlDeviceGetEccMode", device));
  details.mode("mig", nvml.mode("nvmlDeviceGetMigMode", device));
  details.text("gpu_topology", topology());
  return details.take();
}

}  // namespace meshwright::calibrate::cuda
