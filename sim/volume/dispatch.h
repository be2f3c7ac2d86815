// SPDX-License-Identifier: Apache-2.0
// How long DeepEP, HybridEP and NCCL EP take to bring tokens to their experts, or back: one copy of
// a token crosses to each NVLink domain (a node, or a rack of NVL72) that has experts of it, and is
// handed on inside while others cross. The two overlap in part, (across^3 + inside^3)^(1/3): on 16
// H100 HybridEP takes 1.22 times the longer of both, which this makes 1.14; on 32 and 64 nothing.
#pragma once

#include "sim/base/units.h"
#include "sim/hardware/cluster.h"
#include "sim/hardware/placement.h"
#include "sim/layout/layout.h"
#include "sim/model/routing.h"

namespace meshwright {

// Share of the token copies that crosses between domains, 0 to 1: (n/r) (1 - 1/N). A rank sends one
// copy of a token to each rank that has experts of it: n domains and r ranks per token, of N
// domains.
double share_between_domains(const Routing& routing, const Placement& placement);

// `copies`: of all of a rank's tokens, one for each rank that has experts of it. Across:
// copies * share_between_domains(); inside: copies * (1 - 1/R), R ranks.
Cost dispatch_cost(Bytes copies, const Routing& routing, MoeFlexDispatcherBackend backend,
                   const Placement& placement, const Cluster& cluster);

}  // namespace meshwright
