// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_defaults.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/schedule/traits.h"

namespace meshwright::planner {

SearchSpace with_recompute_modules(SearchSpace space, const Model& model, const Job& job,
                                   UnsupportedBits lacks) {
  std::vector<RecomputeModules>& sets = space[&Layout::recompute_modules];
  if (!sets.empty()) return space;
  if ((lacks & lack_bit(Unsupported::recompute_modules)) != 0) {
    sets = {{kRecomputeCoreAttention}};
    return space;
  }
  const bool unfused = job.attention_kernel == AttentionKernel::unfused;
  const unsigned attention = unfused ? unsigned{kRecomputeCoreAttention} : 0U;
  const bool delayed = job.precision == Precision::fp8 && job.fp8_recipe == Fp8Recipe::delayed;
  const auto add = [&](unsigned modules) {
    if (delayed && (modules & (kRecomputeLayerNorm | kRecomputeMoeActivation)) != 0) return;
    sets.push_back({static_cast<std::uint8_t>(modules | attention)});
  };
  const unsigned latent = model.mla ? unsigned{kRecomputeMlaUpProjection} : 0U;
  if ((latent | attention) != 0) add(latent);
  if (has_dense_mlp(model)) add(latent | kRecomputeMlp);
  if (!model.moe) return space;
  add(kRecomputeMoeActivation);
  add(kRecomputeLayerNorm | latent | kRecomputeMoeActivation);
  if (!model.mla) add(kRecomputeMoe);
  return space;
}

SearchSpace with_token_overlap(SearchSpace space, const Model& model, const Framework& framework) {
  const auto& taken = framework.experts.dispatch_multiprocessors;
  const bool known = std::any_of(taken.begin(), taken.end(), [](int count) { return count > 0; });
  std::vector<bool>& asked = space[&Layout::overlap_moe_expert_parallel_comm];
  const bool can = !framework.limits.lacks(Unsupported::token_overlap);
  if (model.moe && known && can && asked.empty()) asked = {false, true};
  return space;
}

SearchSpace with_schedules(SearchSpace space, const Framework& framework) {
  std::vector<PipelineSchedule>& asked = space[&Layout::schedule];
  if (!asked.empty() || !framework.pipeline.states_schedules()) return space;
  for (const ScheduleTraits* t : pipeline_schedules) {
    if (framework.pipeline.has(t->schedule) && !t->holds_all_micro_batches) {
      asked.push_back(t->schedule);
    }
  }
  return space;
}

SearchSpace without_unsupported(SearchSpace space, const Cluster& cluster) {
  const UnsupportedBits bits = cluster.lacks();
  const auto lacks = [bits](Unsupported what) { return (bits & lack_bit(what)) != 0; };
  constexpr std::array kOnUnasked{
      std::pair{Unsupported::overlap_grad_reduce, &Layout::overlap_grad_reduce},
      std::pair{Unsupported::overlap_param_gather, &Layout::overlap_param_gather},
      std::pair{Unsupported::overlap_p2p_comm, &Layout::overlap_p2p_comm}};
  for (const auto& [what, field] : kOnUnasked) {
    if (lacks(what) && space[field].empty()) space[field] = {false};
  }
  using enum ContextParallelAlgorithm;
  std::vector<ContextParallelAlgorithm>& exchange = space[&Layout::cp_comm_type];
  if (lacks(Unsupported::ring_context_parallel) && exchange.empty()) {
    exchange = {lacks(Unsupported::all_gather_context_parallel) ? a2a : all_gather};
  }
  std::vector<MoeTokenDispatcherType>& dispatcher = space[&Layout::moe_token_dispatcher_type];
  const MoeTokenDispatcherType usual = default_layout(cluster).moe_token_dispatcher_type;
  const bool crosses = !lacks(Unsupported::flex_dispatcher_across_nodes) &&
                       !cluster.unproven.lacks(Unsupported::flex_dispatcher_across_nodes);
  if (!crosses && dispatcher.empty() && usual == MoeTokenDispatcherType::flex) {
    dispatcher = {usual, MoeTokenDispatcherType::alltoall};
  }
  return space;
}

SearchSpace with_defaults(SearchSpace space, const Model& model, const Job& job,
                          const Cluster& cluster) {
  const RecomputeModules own = cluster.framework.defaults.layout.recompute_modules;
  std::vector<RecomputeModules>& modules = space[&Layout::recompute_modules];
  if (own.has(kRecomputeOp) && modules.empty()) modules = {own};
  space = with_recompute_modules(std::move(space), model, job, cluster.lacks());
  space = with_token_overlap(std::move(space), model, cluster.framework);
  space = with_schedules(std::move(space), cluster.framework);
  return without_unsupported(std::move(space), cluster);
}

}  // namespace meshwright::planner
