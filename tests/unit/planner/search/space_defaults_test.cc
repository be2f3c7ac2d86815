// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_defaults.h"

#include <gtest/gtest.h>

#include "tests/unit/planner/planner_fixture.h"

namespace meshwright::planner {
namespace {

// Modules that free memory and that recipes use: an MLP whole; the activation of experts, the norm
// before them, or all of them; the up projections of latent attention. Unfused attention is always
// recomputed.
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
  Cluster cluster;
  for (const Unsupported what : {Unsupported::overlap_grad_reduce, Unsupported::overlap_p2p_comm,
                                 Unsupported::sequence_parallel}) {
    cluster.framework.limits.reasons[static_cast<std::size_t>(what)] = "it came later";
  }
  SearchSpace space = without_unsupported({}, cluster);
  EXPECT_EQ(space[&Layout::overlap_grad_reduce], std::vector{false});
  EXPECT_EQ(space[&Layout::overlap_p2p_comm], std::vector{false});
  EXPECT_TRUE(space[&Layout::overlap_param_gather].empty());
  EXPECT_TRUE(space[&Layout::sequence_parallel].empty());
  space[&Layout::overlap_grad_reduce] = {true};
  EXPECT_EQ(without_unsupported(space, cluster)[&Layout::overlap_grad_reduce], std::vector{true});
}

// A framework's own schedules are searched unasked; GPipe holds every micro-batch and gains
// nothing.
TEST(SpaceDefaults, TheFrameworksSchedulesAreSearched) {
  Framework framework;
  EXPECT_TRUE(with_schedules({}, framework)[&Layout::schedule].empty());
  for (const PipelineSchedule schedule :
       {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b, PipelineSchedule::dualpipe}) {
    framework.pipeline.schedules[static_cast<std::size_t>(schedule)] = true;
  }
  EXPECT_EQ(with_schedules({}, framework)[&Layout::schedule],
            (std::vector{PipelineSchedule::one_f_one_b, PipelineSchedule::dualpipe}));
  SearchSpace asked;
  asked[&Layout::schedule] = {PipelineSchedule::zb_v};
  EXPECT_EQ(with_schedules(asked, framework)[&Layout::schedule],
            std::vector{PipelineSchedule::zb_v});
}

// Where the library of a framework's flex dispatcher does not run, tokens go by alltoall; where it
// does not cross nodes, a search goes through both.
TEST(SpaceDefaults, TokensGoByWhatRuns) {
  Cluster cluster;
  Layout& defaults = cluster.framework.defaults.layout;
  defaults.moe_token_dispatcher_type = MoeTokenDispatcherType::flex;
  defaults.moe_flex_dispatcher_backend = MoeFlexDispatcherBackend::hybridep;
  EXPECT_EQ(default_layout(cluster), defaults);
  cluster.limits.reasons[static_cast<std::size_t>(Unsupported::flex_dispatcher_across_nodes)] =
      "EFA";
  EXPECT_EQ(without_unsupported({}, cluster)[&Layout::moe_token_dispatcher_type],
            (std::vector{MoeTokenDispatcherType::flex, MoeTokenDispatcherType::alltoall}));
  // An unproven feature counts as unsupported until the user asks for it.
  Cluster unproven = cluster;
  std::swap(unproven.unproven, unproven.limits);
  EXPECT_EQ(without_unsupported({}, unproven)[&Layout::moe_token_dispatcher_type],
            (std::vector{MoeTokenDispatcherType::flex, MoeTokenDispatcherType::alltoall}));
  for (const Cluster& c : {cluster, unproven}) {
    Layout inside = defaults;
    inside.expert_parallel_size = c.gpus_per_node;
    EXPECT_EQ(with_proven_dispatcher(inside, c), inside);
    inside.expert_parallel_size *= 2;
    EXPECT_EQ(with_proven_dispatcher(inside, c).moe_token_dispatcher_type,
              MoeTokenDispatcherType::alltoall);
    EXPECT_EQ(with_proven_dispatcher(inside, Cluster{}), inside);
  }
  for (const Unsupported what : {Unsupported::flex_dispatcher, Unsupported::hybridep}) {
    Cluster other = cluster;
    other.device.limits.reasons[static_cast<std::size_t>(what)] = "another maker's";
    EXPECT_EQ(default_layout(other).moe_token_dispatcher_type, MoeTokenDispatcherType::alltoall);
    EXPECT_TRUE(without_unsupported({}, other)[&Layout::moe_token_dispatcher_type].empty());
  }
  cluster.node_fabric = NodeFabric::pcie;
  EXPECT_EQ(default_layout(cluster).moe_token_dispatcher_type, MoeTokenDispatcherType::alltoall);
}

// Context ranks exchange keys and values in a way that the framework has.
TEST(SpaceDefaults, ContextRanksExchangeAsTheFrameworkCan) {
  Cluster cluster;
  EXPECT_TRUE(without_unsupported({}, cluster)[&Layout::cp_comm_type].empty());
  auto& reasons = cluster.framework.limits.reasons;
  reasons[static_cast<std::size_t>(Unsupported::ring_context_parallel)] = "Ulysses";
  EXPECT_EQ(without_unsupported({}, cluster)[&Layout::cp_comm_type],
            std::vector{ContextParallelAlgorithm::all_gather});
  reasons[static_cast<std::size_t>(Unsupported::all_gather_context_parallel)] = "Ulysses";
  EXPECT_EQ(without_unsupported({}, cluster)[&Layout::cp_comm_type],
            std::vector{ContextParallelAlgorithm::a2a});
}

// All three at once.
TEST(SpaceDefaults, AreTheModelsAndTheFrameworks) {
  Model model = small_model();
  model.moe = MixtureOfExperts{};
  Cluster cluster;
  cluster.framework.experts.dispatch_multiprocessors = {20, 32, 0};
  cluster.framework.limits.reasons[static_cast<std::size_t>(Unsupported::overlap_p2p_comm)] =
      "it came later";
  const SearchSpace space = with_defaults({}, model, small_job(), cluster);
  EXPECT_FALSE(space[&Layout::recompute_modules].empty());
  EXPECT_EQ(space[&Layout::overlap_moe_expert_parallel_comm], (std::vector<bool>{false, true}));
  EXPECT_EQ(space[&Layout::overlap_p2p_comm], std::vector{false});
}

}  // namespace
}  // namespace meshwright::planner
