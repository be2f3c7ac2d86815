// SPDX-License-Identifier: Apache-2.0
#include "calibrate/bench/kernel_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "calibrate/bench/attention_bench.h"
#include "calibrate/bench/grouped_gemm_bench.h"
#include "sim/operators/operators.h"
#include "tests/unit/calibrate/idle_compute.h"

namespace meshwright::calibrate {
namespace {

// 256 tokens of 64 numbers are 16,384: a cast by rows reads 2 bytes a number and writes 1, by rows
// and columns it writes 2, a transpose moves 1 + 1, the largest magnitude reads 2.
TEST(NarrowKernelCases, CountTheBytesOfSixteenBitSourcesAndFp8Copies) {
  std::map<std::string, double> traffic;
  for (const KernelCase& c : narrow_kernel_cases({.positions = 128, .batch = 2, .hidden = 64})) {
    traffic[std::string(c.kernel)] = c.traffic.value();
    EXPECT_EQ(c.launches, 1);
  }
  EXPECT_THAT(traffic, testing::ElementsAre(testing::Pair("quantize.cast", 3.0 * 16'384),
                                            testing::Pair("quantize.cast_transpose", 4.0 * 16'384),
                                            testing::Pair("quantize.largest", 2.0 * 16'384),
                                            testing::Pair("quantize.transpose", 2.0 * 16'384)));
}

// A check of a profile that another build made: its points are dropped, and the others go on.
TEST(LibraryBenches, AreRefusedWhereTheDeviceHasNoSuchLibrary) {
  IdleCompute compute;
  const KernelSizes sizes{.positions = 128, .batch = 2, .hidden = 64};
  for (const KernelCase& c : narrow_kernel_cases(sizes)) {
    EXPECT_THROW((void)make_kernel_bench(compute, c.kernel, sizes), UnsupportedCall) << c.kernel;
  }
  const AttentionShape shape{
      .batch = 1, .heads = 1, .query_groups = 1, .positions = 8, .head_dim = 8};
  EXPECT_THROW((void)make_attention_bench(compute, shape, Precision::bf16), UnsupportedCall);
  EXPECT_THROW((void)make_grouped_gemm_bench(compute, {}, Precision::bf16), UnsupportedCall);
}

TEST(PricedKernel, IsTheModelsNameOfWhatWasTimed) {
  EXPECT_EQ(priced_kernel(narrow_kernel::kCastTranspose), kernel::kQuantize);
  EXPECT_EQ(priced_kernel(narrow_kernel::kLargest), kernel::kQuantize);
  EXPECT_EQ(priced_kernel(kernel::kLayerNorm), kernel::kLayerNorm);
}

}  // namespace
}  // namespace meshwright::calibrate
