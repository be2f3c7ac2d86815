// SPDX-License-Identifier: Apache-2.0
#include "sim/memory/memory_fit.h"

#include <gtest/gtest.h>

namespace meshwright {
namespace {

// 50 GB of which 40 are allocated; the allocator holds 1.2 times those: 50 + 8.
TEST(ReservedPeak, AddsWhatTheAllocatorHoldsBesideTensors) {
  const MemoryFacts facts{.reserved_ratio = 1.2};
  EXPECT_DOUBLE_EQ(reserved_peak(bytes(50e9), bytes(40e9), facts).value(), 58e9);
  EXPECT_DOUBLE_EQ(reserved_peak(bytes(50e9), bytes(40e9), {}).value(), 50e9);
}

// A device of 100: surely up to 97 reserved, and not at all beyond a peak of 103.
TEST(MemoryFit, IsUncertainWhereReservedMemoryFillsTheDevice) {
  const auto fit = [](double peak, double reserved) {
    return memory_fit(bytes(peak), bytes(reserved), bytes(100));
  };
  EXPECT_EQ(fit(97, 97), MemoryFit::yes);
  EXPECT_EQ(fit(97.1, 97.1), MemoryFit::uncertain);
  EXPECT_EQ(fit(80, 100), MemoryFit::uncertain);  // torchtitan PR 2461: 95.0 of 95.0, out of memory
  EXPECT_EQ(fit(80, 130), MemoryFit::uncertain);
  EXPECT_EQ(fit(103, 103), MemoryFit::uncertain);
  EXPECT_EQ(fit(103.1, 103.1), MemoryFit::no);
}

// 0.97 / 1.25 of the device is 77.6 %: with a quarter more reserved, 97 %.
TEST(MemoryFit, IsSureBelowTheHeadroom) {
  EXPECT_NEAR(sure_headroom({.reserved_ratio = 1.25}), 0.224, 1e-12);  // rounding
  EXPECT_NEAR(sure_headroom({}), 0.03, 1e-12);
}

}  // namespace
}  // namespace meshwright
