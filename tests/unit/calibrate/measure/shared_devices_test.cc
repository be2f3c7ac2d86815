// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure/shared_devices.h"

#include <gmock/gmock.h>

namespace meshwright::calibrate {
namespace {

TEST(SharedDevices, TwoRanksOnOneGpuOfOneHostAreNamed) {
  EXPECT_EQ(shared_device({{"a", "0000:01"}, {"a", "0000:02"}, {"b", "0000:01"}}), "");
  EXPECT_THAT(shared_device({{"a", "0000:01"}, {"b", "0000:01"}, {"a", "0000:01"}}),
              testing::HasSubstr("ranks 0 and 2 share the GPU 0000:01 of a"));
}

TEST(SharedDevices, WhatADeviceDoesNotSayIsNoDevice) {
  EXPECT_EQ(shared_device({{"a", ""}, {"a", ""}}), "");
}

}  // namespace
}  // namespace meshwright::calibrate
