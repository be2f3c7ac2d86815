// SPDX-License-Identifier: Apache-2.0
// What a model, a job and a framework decide of the axes that a search space leaves empty, before
// any layout of it is made (space.h).
#pragma once

#include "planner/search/search.h"
#include "sim/hardware/cluster.h"
#include "sim/layout/layout.h"

namespace meshwright::planner {

// Sets of modules that selective recompute repeats, if the space names none. They are those of
// recipes for such models (Megatron-Bridge, perf_recipes: mla_up_proj, mla_up_proj mlp, moe_act,
// layernorm moe_act; DeepSeek-V3, arXiv 2412.19437: layernorm mla_up_proj moe_act), an MLP or a
// layer of experts whole, and core_attn wherever attention is unfused. If the software has no other
// module, only core_attn is tried.
SearchSpace with_recompute_modules(SearchSpace space, const Model& model, const Job& job,
                                   UnsupportedBits lacks = 0);

// Experts' tokens travel beside another micro-batch's compute or not, both, where the space does
// not say and the framework's library is known to take multiprocessors meanwhile.
SearchSpace with_token_overlap(SearchSpace space, const Model& model, const Framework& framework);

// The schedules that the framework's file states, where the space names none: all but those that
// hold every micro-batch (gpipe), which are no faster than 1f1b and need more memory.
SearchSpace with_schedules(SearchSpace space, const Framework& framework);

// Sets the values that the space leaves open. An overlap that is on by default is off if the
// framework, the devices or their links lack it. Context ranks use a supported exchange. Tokens
// also go by alltoall if the flex dispatcher does not cross nodes. Switches that a search tries
// both ways stay open, so that its rejections name what is unsupported.
SearchSpace without_unsupported(SearchSpace space, const Cluster& cluster);

// All of these.
SearchSpace with_defaults(SearchSpace space, const Model& model, const Job& job,
                          const Cluster& cluster);

}  // namespace meshwright::planner
