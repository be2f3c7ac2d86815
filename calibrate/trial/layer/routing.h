// SPDX-License-Identifier: Apache-2.0
// Which experts a rank's tokens go to, and in which order the copies of tokens leave.
//
// A token goes to the topk experts with the largest logits, of its best groups of experts where the
// model has groups; its weights are the softmax of those logits (Megatron-LM moe_utils.py,
// topk_routing_with_score_function, with the softmax after the choice). The device chooses and
// sorts (Compute::top_k, order_by_expert); the host learns how many copies each expert gets. Forced
// balance (Megatron-LM --moe-router-force-load-balancing) deals the experts out in turn instead and
// keeps the weights.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "calibrate/backends/compute.h"
#include "calibrate/trial/ranks/token_exchange.h"
#include "sim/model/model.h"

namespace meshwright::calibrate {

RouterShape router_shape(const MixtureOfExperts& moe, std::int64_t tokens);

// Where a rank's tokens go.
struct TokenRoutes {
  Tensor chosen;       // the experts of each token, topk of them
  Tensor order;        // of each copy that leaves, its place in `chosen`; kEmptyPlace: none
  Tensor tokens_sent;  // and its token
  ExchangePlan plan;
};

// Routes of experts that are dealt out in turn: the same in every layer and micro-batch of as many
// tokens.
struct BalancedRoutes {
  std::int64_t tokens = -1, first_position = -1;
  std::shared_ptr<const TokenRoutes> routes;
};

// The token at position p takes the experts p * topk, p * topk + 1, ... of all in turn.
std::vector<std::int32_t> experts_in_turn(const MixtureOfExperts& moe,
                                          const std::vector<std::int64_t>& positions);

// On the host: token by token, topk entries each.
struct Routes {
  std::vector<std::int32_t> experts;
  std::vector<float> probabilities;
};

// The copies of tokens by expert, and of an expert in the tokens' order. With a capacity factor f
// each expert has ceil(tokens * topk / experts * f) places (Megatron-LM get_capacity): of more
// copies the likeliest stay, of fewer some places are empty.
struct Copies {
  std::vector<std::int32_t> choices;    // index into the routes; kEmptyPlace: none
  std::vector<std::int64_t> of_expert;  // how many
};
inline constexpr std::int32_t kEmptyPlace = -1;
Copies copies_of(const MixtureOfExperts& moe, const Routes& routes);

}  // namespace meshwright::calibrate
