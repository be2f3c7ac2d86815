// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/rank_groups.h"

#include <gtest/gtest.h>

namespace meshwright::calibrate {
namespace {

// tp2 dp3 pp2, Megatron's order: tensor fastest, then data, then pipeline. Rank 9 = 1 + 2*1 + 6*1.
TEST(RankGroups, RanksAreNumberedInnermostAxisFirst) {
  Layout l;
  l.tensor_parallel_size = 2;
  l.data_parallel_size = 3;
  l.pipeline_parallel_size = 2;
  const Coordinates at = coordinates(l, 9);
  EXPECT_EQ(at.tensor, 1);
  EXPECT_EQ(at.data, 1);
  EXPECT_EQ(at.pipeline, 1);
}

// The same sizes with data innermost and tensor outermost: rank 9 = 0 + 3*1 + 6*1.
TEST(RankGroups, TheLayoutsRankOrderIsFollowed) {
  Layout l;
  l.tensor_parallel_size = 2;
  l.data_parallel_size = 3;
  l.pipeline_parallel_size = 2;
  l.rank_order = {Axis::data, Axis::context, Axis::expert, Axis::pipeline, Axis::tensor};
  const Coordinates at = coordinates(l, 9);
  EXPECT_EQ(at.data, 0);
  EXPECT_EQ(at.pipeline, 1);
  EXPECT_EQ(at.tensor, 1);
}

}  // namespace
}  // namespace meshwright::calibrate
