// SPDX-License-Identifier: Apache-2.0
#include "calibrate/backends/nccl/shared_device.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

TEST(SharedDevice, TheSameAddressOnTheSameHostIsShared) {
  EXPECT_TRUE(any_shared({{"a", "0000:01:00.0"}, {"a", "0000:01:00.0"}}));
}

TEST(SharedDevice, TheSameAddressOnOtherHostsOrOtherAddressesAreNot) {
  EXPECT_FALSE(any_shared({{"a", "0000:01:00.0"}, {"b", "0000:01:00.0"}, {"a", "0000:02:00.0"}}));
}

TEST(SharedDevice, OneHostIsOneName) {
  EXPECT_TRUE(one_host({{"a", "1"}, {"a", "2"}}));
  EXPECT_FALSE(one_host({{"a", "1"}, {"b", "1"}}));
}

}  // namespace
}  // namespace meshwright::calibrate
