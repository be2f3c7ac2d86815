// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_defaults.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace meshwright::planner {
namespace {

bool has_dense_layers(const Model& model) {
  if (!model.moe) return true;
  return model.moe->num_first_dense_layers > 0 || model.moe->moe_layer_interval > 1;
}

}  // namespace

SearchSpace with_recompute_modules(SearchSpace space, const Model& model, const Job& job) {
  std::vector<RecomputeModules>& sets = space[&Layout::recompute_modules];
  if (!sets.empty()) return space;
  const bool unfused = job.attention_kernel == AttentionKernel::unfused;
  const unsigned attention = unfused ? unsigned{kRecomputeCoreAttention} : 0U;
  const bool delayed = job.precision == Precision::fp8 && job.fp8_recipe == Fp8Recipe::delayed;
  const auto add = [&](unsigned modules) {
    if (delayed && (modules & (kRecomputeLayerNorm | kRecomputeMoeActivation)) != 0) return;
    sets.push_back({static_cast<std::uint8_t>(modules | attention)});
  };
  const unsigned latent = model.mla ? unsigned{kRecomputeMlaUpProjection} : 0U;
  if ((latent | attention) != 0) add(latent);
  if (has_dense_layers(model)) add(latent | kRecomputeMlp);
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
  if (model.moe && known && asked.empty()) asked = {false, true};
  return space;
}

SearchSpace without_lacks(SearchSpace space, const FrameworkLimits& limits) {
  constexpr std::array kOnUnasked{
      std::pair{Lack::overlap_grad_reduce, &Layout::overlap_grad_reduce},
      std::pair{Lack::overlap_param_gather, &Layout::overlap_param_gather},
      std::pair{Lack::overlap_p2p_comm, &Layout::overlap_p2p_comm}};
  for (const auto& [what, field] : kOnUnasked) {
    if (limits.lacks(what) && space[field].empty()) space[field] = {false};
  }
  return space;
}

SearchSpace with_defaults(SearchSpace space, const Model& model, const Job& job,
                          const Framework& framework) {
  space = with_recompute_modules(std::move(space), model, job);
  space = with_token_overlap(std::move(space), model, framework);
  return without_lacks(std::move(space), framework.limits);
}

}  // namespace meshwright::planner
