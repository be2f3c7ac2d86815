// SPDX-License-Identifier: Apache-2.0
#include "planner/search/rejection.h"

#include <gtest/gtest.h>

#include "sim/layout/layout.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

TEST(RejectionTally, KeepsTheNearestAndTheFirstOfEquals) {
  RejectionTally tally, later;
  Layout layout;
  layout.micro_batch_size = 8;
  tally.add({Rule::memory_capacity, 100, 80}, layout);
  layout.micro_batch_size = 4;
  tally.add({Rule::memory_capacity, 90, 80}, layout);
  layout.micro_batch_size = 2;
  later.add({Rule::memory_capacity, 90, 80}, layout);
  tally.merge(later);
  EXPECT_EQ(tally.count(Rule::memory_capacity), 3);
  EXPECT_EQ(tally.total(), 3);
  const auto& entry = tally.entries()[static_cast<std::size_t>(Rule::memory_capacity)];
  EXPECT_EQ(entry.nearest.layout.micro_batch_size, 4);
}

TEST(SmallestChange, ReallyAdmitsTheLayout) {
  const Model model = small_model();
  const Job job = small_job();
  const Cluster cluster = small_cluster(1, 80);
  CostTable table({model, cluster, job});
  Layout layout;
  layout.data_parallel_size = 4;
  layout.pipeline_parallel_size = 2;
  layout.zero_stage = 2;  // with stages: refused; one stage of ZeRO less is legal
  ASSERT_TRUE(evaluate(table, layout).violation.has_value());
  EXPECT_EQ(smallest_change(table, layout, cluster.device.memory), "zero_stage 2 -> 1");
  layout.zero_stage = 1;
  EXPECT_FALSE(evaluate(table, layout).violation.has_value());
}

TEST(SmallestChange, TriesRecomputeWhenMemoryIsShort) {
  const Model model = small_model();
  const Job job = small_job();
  Cluster cluster = small_cluster(1, 80);
  Layout layout;
  layout.data_parallel_size = 8;
  layout.micro_batch_size = 8;
  layout.recompute_granularity = RecomputeGranularity::selective;
  CostTable roomy({model, cluster, job});
  const Bytes before = evaluate(roomy, layout).peak_memory;
  layout.recompute_granularity = RecomputeGranularity::full;
  const Bytes after = evaluate(roomy, layout).peak_memory;
  ASSERT_LT(after, before);
  cluster.device.memory = (before + after) / 2.0;
  layout.recompute_granularity = RecomputeGranularity::selective;
  CostTable tight({model, cluster, job});
  EXPECT_EQ(smallest_change(tight, layout, cluster.device.memory),
            "recompute_granularity selective -> full");
}

// 10 layers do not divide by 4 stages; with embedding and loss counted, 12 / 4 = 3 do.
TEST(SmallestChange, CountsEmbeddingAndLossWhereLayersDoNotDivide) {
  Model model = small_model();
  model.num_layers = 10;
  const Job job = small_job();
  const Cluster cluster = small_cluster(1, 80);
  CostTable table({model, cluster, job});
  Layout layout;
  layout.tensor_parallel_size = 2;
  layout.pipeline_parallel_size = 4;
  layout.sequence_parallel = true;
  EXPECT_EQ(smallest_change(table, layout, gibibytes(80)),
            "account_for_embedding_in_pipeline_split off -> on, "
            "account_for_loss_in_pipeline_split off -> on");
}

TEST(SmallestChange, IsEmptyWhenNothingHelps) {
  const Model model = small_model();
  const Job job = small_job();
  const Cluster cluster = small_cluster(1, 0.001);
  CostTable table({model, cluster, job});
  Layout layout;
  layout.data_parallel_size = 8;
  EXPECT_EQ(smallest_change(table, layout, cluster.device.memory), "");
}

}  // namespace
}  // namespace meshwright::planner
