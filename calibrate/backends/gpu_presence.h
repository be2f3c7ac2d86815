// SPDX-License-Identifier: Apache-2.0
// Are there NVIDIA GPUs on this host, and what is to be done if CUDA cannot use them?
//
// Found in files, without CUDA: /dev/nvidia0 and so on are the GPUs that this process may have,
// and /proc/driver/nvidia/version names the driver. A container sees the driver of its host, so
// that a driver alone is no GPU.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace meshwright::calibrate {

struct GpuPresence {
  int num_devices = 0;   // device files
  int num_denied = 0;    // of them those that this user or this job may not open
  std::string driver{};  // version of the kernel's driver, "535.104.05"; empty: none
};

// `root` is where dev and proc lie.
GpuPresence find_gpus(const std::filesystem::path& root = "/");

// Version in the text of /proc/driver/nvidia/version; empty: there is none.
std::string driver_version_in(std::string_view text);

// First driver branch that runs programs of this CUDA version (13000: 13.0); 0: not known. Source:
// CUDA Compatibility, "Minor Version Compatibility", table 1.
int oldest_driver_branch(int cuda_version);

// One sentence each, for a reason why CUDA cannot be used.
// CUDA finds the driver too old: "driver 535.104.05 found, 580 or newer needed for this build".
// `supported` is the CUDA version that the driver knows.
std::string too_old_words(const GpuPresence& gpus, int supported, int cuda_version);
// CUDA finds no driver library.
std::string no_library_words(const GpuPresence& gpus);
// CUDA finds no device.
std::string no_device_words(const GpuPresence& gpus);

// CUDA's versions are 1000 * major + 10 * minor: "13.0", "none".
std::string cuda_version_text(int version);

// Why the cuda backend cannot be used.
struct UnusableCuda {
  enum class Kind { not_built, not_opened, not_usable };
  Kind kind = Kind::not_usable;
  std::string reason{};
};

// Whether the cores may be measured in place of GPUs. Returns the notice to print, or nothing where
// there is no GPU to speak of. Throws SystemError where GPUs are present and ought to work: the
// cores would be measured in their place unasked. `visible` is CUDA_VISIBLE_DEVICES.
std::string cores_instead(const GpuPresence& gpus, const UnusableCuda& cuda,
                          const std::optional<std::string>& visible);

}  // namespace meshwright::calibrate
