// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/allowances.h"

#include <gtest/gtest.h>

#include "calibrate/launch/rank_progress.h"

namespace meshwright::calibrate {
namespace {

// 2 * 8192^3 = 1.0995e12 FLOPs: 550 s at 2 GFLOP/s, 1.0995 s at 1 TFLOP/s.
TEST(Allowances, AProductIsJudgedByTheKindOfDevice) {
  const Flops largest = flops(2.0 * 8192 * 8192 * 8192);
  EXPECT_NEAR(slow_product(largest, DeviceKind::cpu).value(), 549.76, 0.01);
  EXPECT_NEAR(slow_product(largest, DeviceKind::gpu).value(), 1.0995, 1e-4);
}

// 2^30 bytes: 1,074 s at 1 MB/s, 1.074 s at 1 GB/s.
TEST(Allowances, ATransferIsJudgedByTheKindOfDevice) {
  EXPECT_NEAR(slow_transfer(gibibytes(1), DeviceKind::cpu).value(), 1073.74, 0.01);
  EXPECT_NEAR(slow_transfer(gibibytes(1), DeviceKind::gpu).value(), 1.0737, 1e-4);
}

// The largest product has 3 x 128 MiB of operands besides: 1.1 + 0.4 s. The message comes alone.
TEST(Allowances, TheTimeoutOfAGpuIsTheDocumentedOneToATwentieth) {
  const Seconds timeout = seconds(30);
  const Seconds product = slow_product(flops(2.0 * 8192 * 8192 * 8192), DeviceKind::gpu) +
                          slow_transfer(mebibytes(384), DeviceKind::gpu);
  EXPECT_LE(longest_alone(timeout, product, false, DeviceKind::gpu), timeout * 1.055);
  const Seconds message = slow_transfer(gibibytes(1), DeviceKind::gpu);
  EXPECT_LE(longest_alone(timeout, message, false, DeviceKind::gpu), timeout * 1.05);
}

// Under srun and torchrun: rank 1 hangs in work of its own and ends after 30 s, rank 0 waits for
// it and would end after 60; cores may compute 20 timeouts one after the other.
TEST(Allowances, ARankThatWaitsOutlastsTheOneThatHangsButNotForEver) {
  const Seconds timeout = seconds(30), slow = seconds(1);
  EXPECT_EQ(longest_alone(timeout, slow, false, DeviceKind::gpu), seconds(31));
  EXPECT_EQ(longest_alone(timeout, slow, true, DeviceKind::gpu), seconds(61));
  EXPECT_EQ(longest_alone(timeout, slow, false, DeviceKind::cpu), seconds(31));
  EXPECT_EQ(longest_alone(timeout, slow, true, DeviceKind::cpu), seconds(601));
}

// What the operations of a rank ask for is that of its own device.
TEST(Allowances, ARankIsWatchedAsTheDeviceThatItHas) {
  EXPECT_EQ(slow_transfer(gigabytes(1)), seconds(1000));
  watch_device(DeviceKind::gpu);
  EXPECT_EQ(slow_transfer(gigabytes(1)), seconds(1));
  EXPECT_EQ(slow_product(flops(1e12)), seconds(1));
  watch_device(DeviceKind::cpu);
}

}  // namespace
}  // namespace meshwright::calibrate
