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
      parallel_sizes_of(small_model(), small_cluster(2, 80), small_job(), {});
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

// What frees something and recipes use: an MLP whole; of experts the activation, the norm before
// them or all; the up projections of latent attention. Unfused attention always runs again.
TEST(Space, RecomputedModulesAreThoseThatRecipesOfSuchModelsUse) {
  const auto sets = [](const Model& model, const Job& job) {
    const SearchSpace space = with_recompute_modules({}, model, job);
    std::vector<unsigned> all;
    for (const RecomputeModules set : space[&Layout::recompute_modules]) all.push_back(set.bits);
    return all;
  };
  constexpr unsigned kAct = kRecomputeMoeActivation;
  constexpr unsigned kUp = kRecomputeMlaUpProjection;
  Model model = small_model();
  Job job = small_job();
  EXPECT_EQ(sets(model, job), std::vector<unsigned>{kRecomputeMlp});
  job.attention_kernel = AttentionKernel::unfused;
  EXPECT_EQ(sets(model, job), (std::vector<unsigned>{kRecomputeCoreAttention,
                                                     kRecomputeCoreAttention | kRecomputeMlp}));
  job = small_job();
  model.moe = MixtureOfExperts{};
  EXPECT_EQ(sets(model, job),
            (std::vector<unsigned>{kAct, kRecomputeLayerNorm | kAct, kRecomputeMoe}));
  model.mla = LatentAttention{};
  model.moe->num_first_dense_layers = 3;
  EXPECT_EQ(sets(model, job), (std::vector<unsigned>{kUp, kUp | kRecomputeMlp, kAct,
                                                     kRecomputeLayerNorm | kUp | kAct}));
  job.precision = Precision::fp8;
  job.fp8_recipe = Fp8Recipe::delayed;
  EXPECT_EQ(sets(model, job), (std::vector<unsigned>{kUp, kUp | kRecomputeMlp}));
  SearchSpace asked;
  asked[&Layout::recompute_modules] = {{kAct}};
  EXPECT_EQ(with_recompute_modules(asked, model, job)[&Layout::recompute_modules].size(), 1U);
}

// Both where the framework's library is known to take multiprocessors; as asked otherwise.
TEST(Space, TokensTravelBesideComputeOrNotWhereSoftwareHasIt) {
  const auto values = [](const Model& model, const Framework& framework, const SearchSpace& asked) {
    return with_token_overlap(asked, model, framework)[&Layout::overlap_moe_expert_parallel_comm];
  };
  Model model = small_model();
  Framework framework;
  framework.experts.dispatch_multiprocessors = {20, 32, 0};
  EXPECT_TRUE(values(model, framework, {}).empty());
  model.moe = MixtureOfExperts{};
  EXPECT_EQ(values(model, framework, {}), (std::vector<bool>{false, true}));
  EXPECT_TRUE(values(model, {}, {}).empty());
  SearchSpace asked;
  asked[&Layout::overlap_moe_expert_parallel_comm] = {true};
  EXPECT_EQ(values(model, framework, asked), std::vector<bool>{true});
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
  for (const ParallelSizes& sizes : parallel_sizes_of(model, cluster, small_job(), space)) {
    for (const Layout& layout : pipeline_settings(model, small_job(), space, sizes)) {
      EXPECT_EQ(layout.pipeline_engine, PipelineEngine::nanotron);
      EXPECT_EQ(layout.num_layers_in_last_pipeline_stage, 0);
    }
  }
}

TEST(Space, RefusesSizesBelowOneAndUnknownZeroStages) {
  SearchSpace space;
  space[&Layout::tensor_parallel_size] = {0};
  EXPECT_THROW(parallel_sizes_of(small_model(), small_cluster(1, 80), small_job(), space),
               InputError);
  space[&Layout::tensor_parallel_size] = {};
  space[&Layout::zero_stage] = {4};
  EXPECT_THROW(parallel_sizes_of(small_model(), small_cluster(1, 80), small_job(), space),
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

// Overlaps that would be on unasked are off where the framework lacks them; asked for they stay,
// and its rule refuses them. Sequence parallelism is looked at both ways all the same.
TEST(Space, OverlapsThatTheFrameworkLacksAreOff) {
  FrameworkLimits limits;
  for (const Lack what :
       {Lack::overlap_grad_reduce, Lack::overlap_p2p_comm, Lack::sequence_parallel}) {
    limits.reasons[static_cast<std::size_t>(what)] = "it came later";
  }
  SearchSpace space = without_lacks({}, limits);
  EXPECT_EQ(space[&Layout::overlap_grad_reduce], std::vector{false});
  EXPECT_EQ(space[&Layout::overlap_p2p_comm], std::vector{false});
  EXPECT_TRUE(space[&Layout::overlap_param_gather].empty());
  EXPECT_TRUE(space[&Layout::sequence_parallel].empty());
  space[&Layout::overlap_grad_reduce] = {true};
  EXPECT_EQ(without_lacks(space, limits)[&Layout::overlap_grad_reduce], std::vector{true});
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
