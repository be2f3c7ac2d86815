// SPDX-License-Identifier: Apache-2.0
// The value next to a limit: a value fails, another one works, and values between them are tried
// until the two are one step or 2 % apart.
#pragma once

#include <functional>
#include <optional>

#include "sim/hardware/cluster.h"

namespace meshwright::planner {

struct LimitPair {
  int failed = 0, works = 0;
};

// The multiple of `step` that is nearest to the middle of two values. Nothing: they are at most a
// step or 2 % apart.
std::optional<int> value_between(LimitPair pair, int step);
// The same for GPU counts that whole nodes make up, in steps of a node.
std::optional<int> count_between(LimitPair pair, const Cluster& cluster);

// Tries what `between` offers until it offers nothing. Either value may be the larger one.
LimitPair narrowed(LimitPair pair, const std::function<std::optional<int>(LimitPair)>& between,
                   const std::function<bool(int)>& works);

}  // namespace meshwright::planner
