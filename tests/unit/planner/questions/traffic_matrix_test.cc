// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/traffic_matrix.h"

#include <gtest/gtest.h>

#include "sim/volume/volume.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

Estimate volume_of(const Layout& layout) {
  Estimate estimate;
  estimate.layout = layout;
  estimate.volume = volume(small_model(), small_job(), layout);
  return estimate;
}

double cell(const TrafficMatrix& matrix, int from, int to) {
  for (const TrafficCell& each : matrix.cells) {
    if (each.from == from && each.to == to) return each.sent.value();
  }
  return 0.0;
}

// Eight ranks, two tensor, two data, two pipeline: all that a stage's ranks send is received.
TEST(TrafficMatrix, HoldsAllBytesThatRanksSend) {
  const Layout layout{
      .tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 2};
  const Estimate estimate = volume_of(layout);
  const TrafficMatrix matrix = traffic_matrix(estimate);
  EXPECT_EQ(matrix.ranks_per_group, 1);
  EXPECT_EQ(matrix.groups, 8);
  double sent = 0.0;
  for (const StageVolume& stage : estimate.volume.stages) sent += 4.0 * stage.sent().value();
  EXPECT_NEAR(matrix.sent().value() / sent, 1.0, 1e-12);
}

// Tensor ranks are 0 and 1; the ring of two goes both ways. Rank 0's data peer is 2, and its next
// stage's rank is 4.
TEST(TrafficMatrix, RingsGoToTheNextRankAndStagesToTheirNeighbours) {
  const Layout layout{
      .tensor_parallel_size = 2, .pipeline_parallel_size = 2, .data_parallel_size = 2};
  const Estimate estimate = volume_of(layout);
  const TrafficMatrix matrix = traffic_matrix(estimate);
  const StageVolume& first = estimate.volume.stages[0];
  // Flags of the model group are a few bytes beside it.
  EXPECT_NEAR(cell(matrix, 0, 1) / first.sent(Group::tensor).value(), 1.0, 1e-6);
  EXPECT_NEAR(cell(matrix, 1, 0) / first.sent(Group::tensor).value(), 1.0, 1e-6);
  EXPECT_NEAR(cell(matrix, 0, 2) / first.sent(Group::data).value(), 1.0, 1e-6);
  EXPECT_GE(cell(matrix, 0, 4), first.sent(Group::pipeline).value());
  EXPECT_DOUBLE_EQ(cell(matrix, 0, 7), 0.0);
}

// 128 ranks are 64 groups of two: each group of two tensor ranks keeps its ring to itself.
TEST(TrafficMatrix, LargeJobsAreSummedOverGroupsOfRanks) {
  const Layout layout{.tensor_parallel_size = 2, .data_parallel_size = 64};
  const Estimate estimate = volume_of(layout);
  const TrafficMatrix matrix = traffic_matrix(estimate);
  EXPECT_EQ(matrix.ranks_per_group, 2);
  EXPECT_EQ(matrix.groups, 64);
  const StageVolume& stage = estimate.volume.stages[0];
  EXPECT_NEAR(cell(matrix, 5, 5) / (2.0 * stage.sent(Group::tensor).value()), 1.0, 1e-6);
  EXPECT_NEAR(matrix.sent().value() / (128.0 * stage.sent().value()), 1.0, 1e-9);
}

TEST(TrafficMatrix, OneRankSendsNothing) {
  EXPECT_TRUE(traffic_matrix(volume_of({})).cells.empty());
}

}  // namespace
}  // namespace meshwright::planner
