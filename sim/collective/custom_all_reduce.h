// SPDX-License-Identifier: Apache-2.0
// The all-reduce of inference frameworks: small messages inside a node, every rank reading its
// peers' memory in one or two shots (CustomAllReduce in cluster.h). Training never uses it.
#pragma once

#include <optional>

#include "sim/collective/collective.h"

namespace meshwright {

// Nothing where the link has none, the group leaves the node, or the payload is too large.
std::optional<Cost> custom_all_reduce_cost(Bytes payload, const Placement& placement,
                                           const Cluster& cluster);

// What a serving job pays for one tensor-parallel all-reduce: the custom one where it is there and
// faster, else the library's.
Cost serving_all_reduce_cost(Bytes payload, const Placement& placement, const Cluster& cluster);

}  // namespace meshwright
