// SPDX-License-Identifier: Apache-2.0
// Each kernel that a calibration times gives the right numbers on cores, at the sizes of a job and
// at those of a service's step with one row.
#include "calibrate/bench/kernel_bench.h"

#include <gtest/gtest.h>

#include "calibrate/backends/backend.h"

namespace meshwright::calibrate {
namespace {

void expect_right(KernelSizes sizes) {
  const auto compute = open_backend("cpu").make_compute(0);
  for (const KernelCase& one : kernel_cases(sizes)) {
    const auto bench = make_kernel_bench(*compute, one.kernel, sizes);
    EXPECT_EQ(bench->check(), "") << one.kernel << ", " << sizes.positions << " positions, "
                                  << sizes.heads << " heads";
  }
}

TEST(KernelBenches, AreRightAtTheSizesOfAJobAndOfAService) {
  for (const std::int64_t heads : {1, 4}) {
    expect_right(
        {.positions = 2, .batch = 2, .hidden = 32, .ffn = 64, .heads = heads, .vocab = 64});
    expect_right({.positions = 1,
                  .batch = 1,
                  .hidden = 32,
                  .ffn = 64,
                  .heads = heads,
                  .vocab = 64,
                  .gated = true});
  }
}

}  // namespace
}  // namespace meshwright::calibrate
