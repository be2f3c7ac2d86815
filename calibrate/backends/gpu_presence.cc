// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/gpu_presence.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// nvidia0, nvidia1; not nvidiactl, nvidia-uvm.
bool is_gpu_file(const std::string& name) {
  constexpr std::string_view kPrefix = "nvidia";
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(), is_digit);
}

// A cgroup's denial is EPERM, that of a file's mode EACCES.
bool is_denied(const fs::path& device) {
  const int file = open(device.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno == EACCES || errno == EPERM;
  close(file);
  return false;
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// "535.104.05"; a year or "x86_64" is none.
bool is_version(const std::string& word) {
  return is_digit(word.front()) && word.find('.') != std::string::npos &&
         std::all_of(word.begin(), word.end(), [](char c) { return c == '.' || is_digit(c); });
}

// Empty, "-1" and the name that Slurm gives to a job without GPUs hide all of them.
bool hides_all(const std::optional<std::string>& visible) {
  return visible && (visible->empty() || *visible == "-1" || *visible == "NoDevFiles");
}

std::string cores_words(const std::string& reason) {
  return reason + "; using the CPU cores instead";
}

}  // namespace

GpuPresence find_gpus(const fs::path& root) {
  GpuPresence gpus;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(root / "dev", none)) {
    if (!is_gpu_file(entry.path().filename().string())) continue;
    ++gpus.num_devices;
    if (is_denied(entry.path())) ++gpus.num_denied;
  }
  gpus.driver = driver_version_in(content_of(root / "proc/driver/nvidia/version"));
  return gpus;
}

std::string driver_version_in(std::string_view text) {
  std::istringstream words{std::string(text.substr(0, text.find('\n')))};
  for (std::string word; words >> word;) {
    if (is_version(word)) return word;
  }
  return "";
}

int oldest_driver_branch(int cuda_version) {
  constexpr std::array<std::pair<int, int>, 3> kOldest{{{11, 450}, {12, 525}, {13, 580}}};
  const auto* found = std::find_if(kOldest.begin(), kOldest.end(), [&](const auto& entry) {
    return entry.first == cuda_version / 1000;
  });
  return found == kOldest.end() ? 0 : found->second;
}

std::string cuda_version_text(int version) {
  return version == 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string too_old_words(const GpuPresence& gpus, int supported, int cuda_version) {
  const int oldest = oldest_driver_branch(cuda_version);
  if (gpus.driver.empty() || oldest == 0) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, this program needs {}",
                       cuda_version_text(supported), cuda_version_text(cuda_version));
  }
  return fmt::format(
      "the NVIDIA driver is too old: driver {} found, {} or newer needed for this build (CUDA {})",
      gpus.driver, oldest, cuda_version_text(cuda_version));
}

std::string no_library_words(const GpuPresence& gpus) {
  if (gpus.driver.empty()) return "no NVIDIA driver is installed on this machine";
  return fmt::format(
      "driver {} is loaded, but its library libcuda.so.1 was not found (a container needs the "
      "NVIDIA runtime: docker run --gpus all)",
      gpus.driver);
}

std::string no_device_words(const GpuPresence& gpus) {
  if (gpus.num_denied == 0) {
    return "no NVIDIA GPU is visible (CUDA_VISIBLE_DEVICES may hide it)";
  }
  return fmt::format(
      "permission to open {} of {} NVIDIA GPUs (/dev/nvidia0, ...) is denied: under Slurm ask for "
      "them with --gpus-per-node",
      gpus.num_denied, gpus.num_devices);
}

std::string cores_instead(const GpuPresence& gpus, const UnusableCuda& cuda,
                          const std::optional<std::string>& visible) {
  using Kind = UnusableCuda::Kind;
  if (gpus.num_devices == 0) {
    if (cuda.kind == Kind::not_opened) return cores_words(cuda.reason);
    const bool has_driver = !gpus.driver.empty() && cuda.kind == Kind::not_usable;
    return has_driver ? cores_words(fmt::format("NVIDIA driver {} is loaded, but there is no GPU "
                                                "(/dev/nvidia0)",
                                                gpus.driver))
                      : "";
  }
  const std::string present = fmt::format("this host has {} NVIDIA GPU{}", gpus.num_devices,
                                          gpus.num_devices == 1 ? "" : "s");
  if (cuda.kind == Kind::not_built) {
    return cores_words(present + ", but this program was built without the cuda backend");
  }
  if (hides_all(visible)) return cores_words("CUDA_VISIBLE_DEVICES hides all GPUs");
  throw SystemError(present + " that cannot be used: " + cuda.reason,
                    "correct this, or measure the CPU cores with --backend cpu");
}

}  // namespace meshwright::calibrate
