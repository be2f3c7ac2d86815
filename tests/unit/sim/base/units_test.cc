// SPDX-License-Identifier: Apache-2.0
#include "sim/base/units.h"

#include <gtest/gtest.h>

#include <type_traits>

namespace meshwright {
namespace {

static_assert(std::is_same_v<decltype(bytes(1) / gigabytes_per_second(1)), Seconds>);
static_assert(std::is_same_v<decltype(bytes(1) / bytes(1)), double>);
static_assert(std::is_same_v<decltype(gigabytes_per_second(1) * seconds(1)), Bytes>);
static_assert(!std::is_convertible_v<double, Bytes>);

template <typename A, typename B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Bytes, Bytes>);
static_assert(!Addable<Bytes, Seconds>);

TEST(Units, GibibytesAreBinaryAndGigabytesAreDecimal) {
  EXPECT_EQ(gibibytes(1).value(), 1073741824.0);
  EXPECT_EQ(gigabytes(1).value(), 1e9);
}

TEST(Units, BytesOverBandwidthIsTime) {
  // 6 GB at 3 GB/s take 2 s.
  EXPECT_EQ(gigabytes(6) / gigabytes_per_second(3), seconds(2));
}

}  // namespace
}  // namespace meshwright
