// SPDX-License-Identifier: Apache-2.0
// At how many places a token's experts sit: what a dispatcher that sends one copy to each place
// sends.
//
// k of E experts at random, on N places with E/N each: a place has none of them with
// C(E - E/N, k) / C(E, k), so that N (1 - C(E - E/N, k) / C(E, k)) have some. Where a token's
// experts lie in g of G groups, the same inside the chosen groups.
#pragma once

#include "sim/model/model.h"

namespace meshwright {

struct Routing {
  int experts = 0, topk = 0;
  int groups = 0, group_topk = 0;  // 0: no groups
  bool operator==(const Routing&) const = default;
};

constexpr Routing routing_of(const MixtureOfExperts& moe) {
  return {moe.num_moe_experts, moe.moe_router_topk, moe.moe_router_num_groups,
          moe.moe_router_group_topk};
}

// Expected number of places, 1 to min(topk, places). `places` divides the experts. Groups are
// chosen by the sum of their best topk / group_topk scores, which uses more of the chosen groups
// than chance (Megatron-LM moe_utils.py, group_limited_topk): simulated for the models that have
// them, by chance for others.
double places_of_token(const Routing& routing, int places);

}  // namespace meshwright
