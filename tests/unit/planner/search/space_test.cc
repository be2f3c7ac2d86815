// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// 16 devices, 16 heads, 8 layers: tensor 1 2 4 8 16, pipeline 1 2 4 8 (16 exceeds the layers).
// Products that are at most 16: 4 + 4 + 3 + 2 + 1 = 14.
TEST(Space, ParallelSizesMultiplyToTheGpus) {
  const std::vector<ParallelSizes> all_sizes =
      parallel_sizes_of({small_model(), small_cluster(2, 80), small_job()}, {});
  EXPECT_EQ(all_sizes.size(), 14U);
  for (const ParallelSizes& c : all_sizes)
    EXPECT_EQ(c.tensor * c.pipeline * c.context * c.data, 16);
}

// pipeline 2: 4 layers a stage: 1 chunk (1f1b), 2 or 4 chunks (interleaved). data 8: 64/8 = 8
// sequences a rank: micro-batches 1 2 4 8. 3 * 4 = 12.
TEST(Space, PipelineSettingsAreSchedulesTimesMicroBatches) {
  EXPECT_EQ(pipeline_settings(small_model(), small_job(), {}, {.pipeline = 2, .data = 8}).size(),
            12U);
}

// Data 8: 96/8 = 12 sequences a rank, of which 1 2 3 4 6 are whole micro-batches; 8 is none, and 12
// is past 8 and no power of two. 64/8 = 8 has powers of two alone.
TEST(Space, MicroBatchesThatAreNoPowersOfTwoComeWhereTheBatchDividesSo) {
  Job job = small_job();
  const auto sizes = [&](int batch) {
    job.global_batch_size = batch;
    std::vector<int> found;
    for (const Layout& layout : pipeline_settings(small_model(), job, {}, {.data = 8})) {
      found.push_back(layout.micro_batch_size);
    }
    return found;
  };
  EXPECT_EQ(sizes(96), (std::vector{1, 2, 3, 4, 6}));
  EXPECT_EQ(sizes(64), (std::vector{1, 2, 4, 8}));
}

// Recompute none, selective, full of all, 1, 2 and 4 layers: 6. With tensor > 1: sequence parallel
// off, or on with tensor-parallel overlap on and off: 3. With data > 1: four ZeRO stages.
TEST(Space, MembersAreAllSettingsOfTheSwitches) {
  Layout setting;
  EXPECT_EQ(layouts_of({}, setting).size(), 6U);
  setting.tensor_parallel_size = 2;
  EXPECT_EQ(layouts_of({}, setting).size(), 18U);
  setting.data_parallel_size = 2;
  EXPECT_EQ(layouts_of({}, setting).size(), 72U);
}

TEST(Space, ABatchThatDoesNotDivideIsCountedOnce) {
  Job job = small_job();
  job.global_batch_size = 63;
  EXPECT_EQ(pipeline_settings(small_model(), job, {}, {.data = 8}).size(), 1U);
}

// nanotron splits 61 layers on 2 stages by cost itself; Megatron-LM is told 31 and 30.
TEST(Space, LayoutsAreTheClustersFrameworks) {
  Model model = small_model();
  model.num_layers = 61;
  Cluster cluster = small_cluster(1, 80);
  cluster.framework.defaults.layout.pipeline_engine = PipelineEngine::nanotron;
  SearchSpace space;
  space[&Layout::pipeline_parallel_size] = {2};
  for (const ParallelSizes& sizes : parallel_sizes_of({model, cluster, small_job()}, space)) {
    for (const Layout& layout : pipeline_settings(model, small_job(), space, sizes)) {
      EXPECT_EQ(layout.pipeline_engine, PipelineEngine::nanotron);
      EXPECT_EQ(layout.num_layers_in_last_pipeline_stage, 0);
    }
  }
}

TEST(Space, RefusesSizesBelowOneAndUnknownZeroStages) {
  SearchSpace space;
  space[&Layout::tensor_parallel_size] = {0};
  EXPECT_THROW(parallel_sizes_of({small_model(), small_cluster(1, 80), small_job()}, space),
               InputError);
  space[&Layout::tensor_parallel_size] = {};
  space[&Layout::zero_stage] = {4};
  EXPECT_THROW(parallel_sizes_of({small_model(), small_cluster(1, 80), small_job()}, space),
               InputError);
}

// DeepSeek-V3's 61 layers. 16 stages: (61 + 2) / 16 rounds up to 4; 61 - 14 * 4 = 5 are left for
// the ends: 3 and 2. 2 stages: 31, and 30 on the last. 61 stages divide; 63 = 7 * 9 counts both
// ends.
TEST(Space, LayersThatDoNotDivideLeaveShorterEnds) {
  Model model = small_model();
  model.num_layers = 61;
  const auto split = [&](int stages) {
    SearchSpace space;
    space[&Layout::schedule] = {PipelineSchedule::one_f_one_b};
    return pipeline_settings(model, small_job(), space, {.pipeline = stages}).at(0);
  };
  EXPECT_EQ(split(16).num_layers_in_first_pipeline_stage, 3);
  EXPECT_EQ(split(16).num_layers_in_last_pipeline_stage, 2);
  EXPECT_EQ(split(2).num_layers_in_first_pipeline_stage, 31);
  EXPECT_EQ(split(2).num_layers_in_last_pipeline_stage, 0);
  EXPECT_EQ(split(61).num_layers_in_first_pipeline_stage, 0);
  EXPECT_TRUE(split(7).account_for_loss_in_pipeline_split);
}

// Overlaps that the framework lacks stay off.
TEST(Space, OverlapsAreThoseThatTheFrameworkHas) {
  FeatureLimits limits;
  for (const Unsupported what : {Unsupported::overlap_grad_reduce, Unsupported::overlap_p2p_comm}) {
    limits.reasons[static_cast<std::size_t>(what)] = "it came later";
  }
  Layout layout;
  layout.data_parallel_size = 2;
  layout.schedule = PipelineSchedule::interleaved;
  set_overlaps(layout, true, limits);
  EXPECT_FALSE(layout.overlap_grad_reduce || layout.overlap_p2p_comm);
  set_overlaps(layout, true, {});
  EXPECT_TRUE(layout.overlap_grad_reduce && layout.overlap_p2p_comm);
}

}  // namespace
}  // namespace meshwright::planner
