// SPDX-License-Identifier: Apache-2.0
// Tokens that an attention group's cache holds.
#pragma once

#include "sim/serving/scheduler.h"

namespace meshwright {

// Tokens of full layers that fit: kv_cache / full_token, in whole blocks where the engine counts
// these. Without a window a token is one of all layers. 1e18 where all layers have windows.
double cache_capacity(const ServingReplica& replica);
// Tokens of full layers that a request's windows and states are worth: ((blocks(W) + block) *
// window_token + state) / full_token. 0 without these, or where no layer keeps all tokens.
double window_equivalent_tokens(const ServingReplica& replica);

}  // namespace meshwright
