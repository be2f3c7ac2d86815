// SPDX-License-Identifier: Apache-2.0
#include "planner/search/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/rules/rules.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

TEST(Candidates, UseAllRanksAndBreakNoRule) {
  const std::vector<LayoutGroup> groups = candidates(small_model(), small_job(), 4);
  ASSERT_FALSE(groups.empty());
  for (const LayoutGroup& group : groups) {
    EXPECT_EQ(world_size(group.pipeline), 4);
    EXPECT_FALSE(group.layouts.empty());
    for (const Layout& layout : group.layouts) {
      EXPECT_FALSE(check_layout(small_model(), small_job(), layout, {.gpus = 4}));
      EXPECT_EQ(layout.micro_batch_size, group.pipeline.micro_batch_size);
    }
  }
}

// Four data ranks with micro-batch 1: ZeRO 0 or 1. Four tensor ranks: sequence parallel or not.
TEST(Candidates, TurnTheSwitchesThatDecideWhichCollectivesRun) {
  const std::vector<LayoutGroup> groups = candidates(small_model(), small_job(), 4);
  const auto layouts_with = [&](auto member, int micro_batch) {
    return std::find_if(groups.begin(), groups.end(),
                        [&](const LayoutGroup& g) {
                          return g.pipeline.*member == 4 &&
                                 g.pipeline.micro_batch_size == micro_batch;
                        })
        ->layouts;
  };
  const auto data = layouts_with(&Layout::data_parallel_size, 1);
  ASSERT_EQ(data.size(), 2U);
  EXPECT_NE(data[0].zero_stage, data[1].zero_stage);
  const auto tensor = layouts_with(&Layout::tensor_parallel_size, 1);
  ASSERT_EQ(tensor.size(), 2U);
  EXPECT_NE(tensor[0].sequence_parallel, tensor[1].sequence_parallel);
}

}  // namespace
}  // namespace meshwright::planner
