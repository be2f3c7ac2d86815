// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_defaults.h"

#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// What frees something and recipes use: an MLP whole; of experts the activation, the norm before
// them or all; the up projections of latent attention. Unfused attention always runs again.
TEST(SpaceDefaults, RecomputedModulesAreThoseThatRecipesOfSuchModelsUse) {
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
TEST(SpaceDefaults, TokensTravelBesideComputeOrNotWhereSoftwareHasIt) {
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

// Overlaps that would be on unasked are off where the framework lacks them; asked for they stay,
// and its rule refuses them. Sequence parallelism is looked at both ways all the same.
TEST(SpaceDefaults, OverlapsThatTheFrameworkLacksAreOff) {
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
}

// All three at once.
TEST(SpaceDefaults, AreTheModelsAndTheFrameworks) {
  Model model = small_model();
  model.moe = MixtureOfExperts{};
  Framework framework;
  framework.experts.dispatch_multiprocessors = {20, 32, 0};
  framework.limits.reasons[static_cast<std::size_t>(Lack::overlap_p2p_comm)] = "it came later";
  const SearchSpace space = with_defaults({}, model, small_job(), framework);
  EXPECT_FALSE(space[&Layout::recompute_modules].empty());
  EXPECT_EQ(space[&Layout::overlap_moe_expert_parallel_comm], (std::vector<bool>{false, true}));
  EXPECT_EQ(space[&Layout::overlap_p2p_comm], std::vector{false});
}

}  // namespace
}  // namespace meshwright::planner
