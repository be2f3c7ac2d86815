// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/layer/routing.h"

#include <algorithm>
#include <cmath>

namespace meshwright::calibrate {

RouterShape router_shape(const MixtureOfExperts& moe, std::int64_t tokens) {
  return {tokens, moe.num_moe_experts, moe.moe_router_topk, moe.moe_router_num_groups,
          moe.moe_router_group_topk};
}

std::vector<std::int32_t> experts_in_turn(const MixtureOfExperts& moe,
                                          const std::vector<std::int64_t>& positions) {
  std::vector<std::int32_t> experts;
  for (const std::int64_t position : positions) {
    for (std::int64_t k = 0; k < moe.moe_router_topk; ++k) {
      const std::int64_t next = position * moe.moe_router_topk + k;
      experts.push_back(static_cast<std::int32_t>(next % moe.num_moe_experts));
    }
  }
  return experts;
}

Copies copies_of(const MixtureOfExperts& moe, const Routes& routes) {
  std::vector<std::vector<std::int32_t>> by_expert(static_cast<std::size_t>(moe.num_moe_experts));
  for (std::size_t i = 0; i < routes.experts.size(); ++i) {
    by_expert[static_cast<std::size_t>(routes.experts[i])].push_back(static_cast<std::int32_t>(i));
  }
  const double share = static_cast<double>(routes.experts.size()) / moe.num_moe_experts;
  const auto capacity = static_cast<std::size_t>(std::ceil(share * moe.moe_expert_capacity_factor));
  Copies copies;
  for (std::vector<std::int32_t>& of_expert : by_expert) {
    if (capacity > 0 && of_expert.size() > capacity) {
      std::stable_sort(of_expert.begin(), of_expert.end(), [&](std::int32_t a, std::int32_t b) {
        return routes.probabilities[static_cast<std::size_t>(a)] >
               routes.probabilities[static_cast<std::size_t>(b)];
      });
    }
    if (capacity > 0) {
      of_expert.resize(capacity, kEmptyPlace);
      std::sort(of_expert.begin(), of_expert.end(), [](std::int32_t a, std::int32_t b) {
        return static_cast<std::uint32_t>(a) < static_cast<std::uint32_t>(b);  // empty ones last
      });
    }
    copies.choices.insert(copies.choices.end(), of_expert.begin(), of_expert.end());
    copies.of_expert.push_back(static_cast<std::int64_t>(of_expert.size()));
  }
  return copies;
}

}  // namespace meshwright::calibrate
