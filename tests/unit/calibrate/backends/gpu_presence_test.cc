// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/gpu_presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "sim/base/error.h"

namespace meshwright::calibrate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Kind = UnusableCuda::Kind;

// Both kinds of kernel module, as the files of real hosts have them.
constexpr char kClosed[] =
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
    "GCC version:  gcc version 11.4.0 (Ubuntu 11.4.0-1ubuntu1~22.04)\n";
constexpr char kOpen[] =
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
    "(dvs-builder@U22-I3-G04-1-3)  Sun Jul 27 06:58:09 UTC 2025\n"
    "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n";

// A folder with the files of a host, removed at the end.
class HostFiles {
 public:
  HostFiles() {
    std::string pattern = (fs::temp_directory_path() / "meshwright-host-XXXXXX").string();
    EXPECT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  HostFiles(const HostFiles&) = delete;
  HostFiles& operator=(const HostFiles&) = delete;
  ~HostFiles() { fs::remove_all(root_); }
  [[nodiscard]] const fs::path& root() const { return root_; }
  [[nodiscard]] fs::path write(const std::string& name, const std::string& text = "") const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text;
    return root_ / name;
  }

 private:
  fs::path root_;
};

TEST(GpuPresence, DeviceFilesAreTheGpus) {
  const HostFiles host;
  EXPECT_EQ(find_gpus(host.root()).num_devices, 0);
  for (const char* name : {"nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null"}) {
    (void)host.write(std::string("dev/") + name);
  }
  (void)host.write("proc/driver/nvidia/version", kClosed);
  const GpuPresence gpus = find_gpus(host.root());
  EXPECT_EQ(gpus.num_devices, 3);
  EXPECT_EQ(gpus.num_denied, 0);
  EXPECT_EQ(gpus.driver, "535.104.05");
}

TEST(GpuPresence, AFileThatMayNotBeOpenedIsCounted) {
  if (geteuid() == 0) GTEST_SKIP() << "root may open every file";
  const HostFiles host;
  fs::permissions(host.write("dev/nvidia0"), fs::perms::none);
  (void)host.write("dev/nvidia1");
  EXPECT_EQ(find_gpus(host.root()).num_denied, 1);
}

TEST(GpuPresence, TheDriversVersionIsReadFromBothKindsOfModule) {
  EXPECT_EQ(driver_version_in(kClosed), "535.104.05");
  EXPECT_EQ(driver_version_in(kOpen), "580.65.06");
  EXPECT_EQ(driver_version_in(""), "");
  EXPECT_EQ(driver_version_in("NVRM version: unknown x86_64 2025"), "");
}

TEST(GpuPresence, AnOldDriverIsNamedWithTheOldestThatWouldDo) {
  EXPECT_EQ(oldest_driver_branch(13000), 580);
  EXPECT_EQ(oldest_driver_branch(12080), 525);
  EXPECT_EQ(oldest_driver_branch(99000), 0);
  EXPECT_EQ(too_old_words({.num_devices = 8, .driver = "535.104.05"}, 12020, 13000),
            "the NVIDIA driver is too old: driver 535.104.05 found, 580 or newer needed for this "
            "build (CUDA 13.0)");
  EXPECT_EQ(too_old_words({.num_devices = 8}, 12020, 13000),
            "the NVIDIA driver is too old: it supports CUDA 12.2, this program needs 13.0");
}

TEST(GpuPresence, MissingLibrariesAndDeniedDevicesAreTheirOwnReasons) {
  EXPECT_THAT(no_library_words({}), HasSubstr("no NVIDIA driver is installed"));
  EXPECT_THAT(no_library_words({.num_devices = 1, .driver = "580.65.06"}),
              HasSubstr("libcuda.so.1 was not found"));
  EXPECT_THAT(no_device_words({.num_devices = 8}), HasSubstr("CUDA_VISIBLE_DEVICES may hide it"));
  EXPECT_THAT(no_device_words({.num_devices = 8, .num_denied = 8}),
              HasSubstr("permission to open 8 of 8 NVIDIA GPUs"));
}

const GpuPresence kEightGpus{.num_devices = 8, .num_denied = 0, .driver = "535.104.05"};

TEST(GpuPresence, APresentGpuThatCannotBeUsedIsAnError) {
  for (const Kind kind : {Kind::not_usable, Kind::not_opened}) {
    try {
      (void)cores_instead(kEightGpus, {.kind = kind, .reason = "the driver is too old"}, "0,1");
      FAIL() << "the cores would be calibrated unasked";
    } catch (const SystemError& error) {
      EXPECT_STREQ(error.what(),
                   "this host has 8 NVIDIA GPUs that cannot be used: the driver is too old");
      EXPECT_THAT(error.hint(), HasSubstr("--backend cpu"));
    }
  }
  EXPECT_THROW((void)cores_instead(kEightGpus, {}, std::nullopt), SystemError);
}

TEST(GpuPresence, WithoutAGpuTheCoresAreMeasured) {
  EXPECT_EQ(cores_instead({}, {.reason = "no driver"}, std::nullopt), "");
  EXPECT_EQ(cores_instead({}, {.kind = Kind::not_built, .reason = "not built"}, std::nullopt), "");
  EXPECT_EQ(cores_instead({}, {.kind = Kind::not_opened, .reason = "no libcublasLt"}, std::nullopt),
            "no libcublasLt; using the CPU cores instead");
  // A container without GPUs on a host with some.
  EXPECT_THAT(cores_instead({.driver = "580.65.06"}, {.reason = "none visible"}, std::nullopt),
              HasSubstr("there is no GPU (/dev/nvidia0); using the CPU cores instead"));
}

TEST(GpuPresence, GpusThatAreHiddenOrNotBuiltForAreNoErrorButANotice) {
  for (const char* hidden : {"", "-1", "NoDevFiles"}) {
    EXPECT_EQ(cores_instead(kEightGpus, {.reason = "none visible"}, hidden),
              "CUDA_VISIBLE_DEVICES hides all GPUs; using the CPU cores instead");
  }
  EXPECT_THAT(cores_instead(kEightGpus, {.kind = Kind::not_built, .reason = ""}, std::nullopt),
              HasSubstr("built without the cuda backend; using the CPU cores instead"));
}

}  // namespace
}  // namespace meshwright::calibrate
