// SPDX-License-Identifier: Apache-2.0
// Which experts a rank's tokens go to, and in which order the copies of tokens leave: decided on
// the host, which has to know the sizes of what it sends.
//
// A token goes to the topk experts with the largest logits, of its best groups of experts where the
// model has groups; its weights are the softmax of those logits (Megatron-LM moe_utils.py,
// topk_routing_with_score_function, with the softmax after the choice). Forced balance (Megatron-LM
// --moe-router-force-load-balancing) deals the experts out in turn instead and keeps the weights.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/model/model.h"

namespace meshwright::calibrate {

// Token by token, topk entries each.
struct Routes {
  std::vector<std::int32_t> experts;
  std::vector<float> probabilities;
};

// logits: tokens x experts.
Routes routes_by_logits(const MixtureOfExperts& moe, const std::vector<float>& logits);
// The token at position p takes the experts p * topk, p * topk + 1, ... of all in turn.
Routes routes_in_turn(const MixtureOfExperts& moe, const std::vector<float>& logits,
                      const std::vector<std::int64_t>& positions);
// Gradient of the loss by the logits: p_j (g_j - sum of p g) at the chosen experts, 0 elsewhere.
std::vector<float> logits_gradient(const MixtureOfExperts& moe, const Routes& routes,
                                   const std::vector<float>& probability_gradient);

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
