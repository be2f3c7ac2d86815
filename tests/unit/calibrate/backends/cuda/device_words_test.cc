// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "calibrate/backends/cuda/device.h"
#include "calibrate/backends/cuda/nvml.h"

namespace meshwright::calibrate::cuda {
namespace {

TEST(Architecture, IsThatOfTheComputeCapability) {
  EXPECT_EQ(architecture_of({8, 0}), "ampere");
  EXPECT_EQ(architecture_of({8, 6}), "ampere");
  EXPECT_EQ(architecture_of({8, 9}), "ada");
  EXPECT_EQ(architecture_of({9, 0}), "hopper");
  EXPECT_EQ(architecture_of({10, 3}), "blackwell");
  EXPECT_EQ(architecture_of({12, 0}), "blackwell");
  EXPECT_EQ(architecture_of({7, 0}), "");
}

// As nvidia-smi topo -m writes them.
TEST(Connection, IsTheNumberOfNvlinksOrThePlaceInThePcieTree) {
  EXPECT_EQ(connection_name(true, 18, 50), "NV18");
  EXPECT_EQ(connection_name(true, 0, 50), "NV");  // this NVML does not count them
  EXPECT_EQ(connection_name(false, 0, 10), "PIX");
  EXPECT_EQ(connection_name(false, 0, 20), "PXB");
  EXPECT_EQ(connection_name(false, 0, 30), "PHB");
  EXPECT_EQ(connection_name(false, 0, 40), "NODE");
  EXPECT_EQ(connection_name(false, 0, 50), "SYS");
  EXPECT_EQ(connection_name(false, 0, -1), "?");
}

}  // namespace
}  // namespace meshwright::calibrate::cuda
