// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "calibrate/backends/cuda/grouped_gemm.h"

namespace meshwright::calibrate::cuda {
namespace {

using ::testing::ElementsAre;

// Experts with 3, 0 and 5 tokens, 7 -> 11 columns. Row-major c (3 x 11) = a (3 x 7) b (7 x 11) is
// column-major c' (11 x 3) = b' (11 x 7) a' (7 x 3). An expert without tokens is no group; the
// third one's weights lie 2 * 77 numbers on, its tokens 3 rows.
TEST(GroupedProblem, ExpertsAreColumnMajorGroupsOfOne) {
  GroupedGemmCall call;
  call.rows = {3, 0, 5};
  call.n = 11;
  call.k = 7;
  const GroupedProblem p(call);
  EXPECT_FALSE(p.transpose_first);
  EXPECT_THAT(p.m, ElementsAre(11, 11));
  EXPECT_THAT(p.n, ElementsAre(3, 5));
  EXPECT_THAT(p.k, ElementsAre(7, 7));
  EXPECT_THAT(p.sizes, ElementsAre(1, 1));
  EXPECT_THAT(p.first_ld, ElementsAre(11, 11));
  EXPECT_THAT(p.second_ld, ElementsAre(7, 7));
  EXPECT_THAT(p.result_ld, ElementsAre(11, 11));
  EXPECT_THAT(p.first_offset, ElementsAre(0, 154));
  EXPECT_THAT(p.second_offset, ElementsAre(0, 21));
  EXPECT_THAT(p.result_offset, ElementsAre(0, 33));
}

// Weights that are stored 11 x 7: column-major 7 x 11, transposed to 11 x 7.
TEST(GroupedProblem, TransposedWeightsHaveTheDepthAsTheirStride) {
  GroupedGemmCall call;
  call.rows = {3};
  call.n = 11;
  call.k = 7;
  call.transpose_b = true;
  const GroupedProblem p(call);
  EXPECT_TRUE(p.transpose_first);
  EXPECT_THAT(p.first_ld, ElementsAre(7));
}

}  // namespace
}  // namespace meshwright::calibrate::cuda
