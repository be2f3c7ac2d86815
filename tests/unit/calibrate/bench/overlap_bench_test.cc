// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/overlap_bench.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// A product of 200 us beside a collective of 50 us, samples of 3 ms: 15 and 60 calls.
TEST(OverlapCalls, BothTakeAboutAsLongAndAtLeastASample) {
  const OverlapCalls calls = overlap_calls(microseconds(200), microseconds(50), 3e-3);
  EXPECT_EQ(calls.products, 15);
  EXPECT_EQ(calls.transfers, 60);
}

// 10 ms beside 1 ms: one product and ten collectives, whatever a sample asks for.
TEST(OverlapCalls, TheLongerOneRunsOnceWhereItIsLongEnough) {
  const OverlapCalls calls = overlap_calls(seconds(10e-3), seconds(1e-3), 50e-6);
  EXPECT_EQ(calls.products, 1);
  EXPECT_EQ(calls.transfers, 10);
}

}  // namespace
}  // namespace meshwright::calibrate
