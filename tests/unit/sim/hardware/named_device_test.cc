// SPDX-License-Identifier: Apache-2.0
#include "sim/hardware/named_device.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

Device device_named(const std::string& name) {
  Device device;
  device.name = name;
  return device;
}

TEST(NamedDevice, TheChipDecidesWhateverStandsAroundIt) {
  EXPECT_TRUE(may_be_device("NVIDIA A100-SXM4-80GB", device_named("NVIDIA A100 SXM4 40 GB")));
  EXPECT_TRUE(
      may_be_device("NVIDIA H100 80GB HBM3", device_named("NVIDIA H100 SXM5 96 GB, 500 W")));
  EXPECT_TRUE(may_be_device("NVIDIA GH200 480GB", device_named("NVIDIA GH200 96 GB")));
  EXPECT_TRUE(
      may_be_device("NVIDIA GeForce RTX 4090", device_named("NVIDIA GeForce RTX 4090 24 GB")));
  EXPECT_TRUE(may_be_device("AMD Instinct MI300X", device_named("AMD Instinct MI300X")));
  EXPECT_TRUE(may_be_device("whatever", device_named("of no number")));
  EXPECT_FALSE(may_be_device("NVIDIA A40", device_named("NVIDIA H100 SXM5 80 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA GB200", device_named("NVIDIA B200 SXM 180 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA A100-SXM4-80GB", device_named("NVIDIA A800 SXM4 80 GB")));
  EXPECT_FALSE(may_be_device("Some GPU", device_named("NVIDIA H100 SXM5 80 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA H100 PCIe", device_named("NVIDIA H100 SXM5 80 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA H100 80GB HBM3", device_named("NVIDIA H100 PCIe 80 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA H200 NVL", device_named("NVIDIA H200 SXM 141 GB")));
  EXPECT_TRUE(may_be_device("NVIDIA H200", device_named("NVIDIA H200 SXM 141 GB")));
  EXPECT_FALSE(may_be_device("NVIDIA RTX 6000 Ada Generation",
                             device_named("NVIDIA RTX PRO 6000 Blackwell Server Edition 96 GB")));
  EXPECT_TRUE(may_be_device("NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                            device_named("NVIDIA RTX PRO 6000 Blackwell Server Edition 96 GB")));
  EXPECT_EQ(other_device({"NVIDIA H100", "NVIDIA A40"}, device_named("NVIDIA H100 SXM5 80 GB")),
            "NVIDIA A40");
}

TEST(NamedDevice, SchedulersWordsNameChips) {
  EXPECT_TRUE(may_be_device("nvidia_h100_80gb_hbm3", device_named("NVIDIA H100 SXM5 80 GB")));
  EXPECT_TRUE(may_be_device("h100sxm5", device_named("NVIDIA H100 SXM5 80 GB")));
  EXPECT_TRUE(may_be_device("rtx4090", device_named("NVIDIA GeForce RTX 4090 24 GB")));
  EXPECT_FALSE(may_be_device("l40", device_named("NVIDIA L40S 48 GB")));
  EXPECT_FALSE(may_be_device("gh200", device_named("NVIDIA H200 SXM 141 GB")));
  EXPECT_TRUE(names_a_chip("a100"));
  EXPECT_FALSE(names_a_chip("hopper"));
}

TEST(NamedDevice, ChipsHaveTheCapabilityOfCuda) {
  EXPECT_EQ(compute_capability(device_named("NVIDIA H100 SXM5 80 GB")), 90);
  EXPECT_EQ(compute_capability(device_named("NVIDIA GB200 186 GB")), 100);
  EXPECT_EQ(compute_capability(device_named("NVIDIA B300 SXM 288 GB")), 103);
  EXPECT_FALSE(compute_capability(device_named("AMD Instinct MI300X")));
}

}  // namespace
}  // namespace meshwright
