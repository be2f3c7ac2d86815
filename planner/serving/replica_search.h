// SPDX-License-Identifier: Apache-2.0
// Replicas of every layout, batch limit and token budget that the engine accepts and whose weights
// leave room, each with what it serves within the limits.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "planner/serving/serving_search.h"

namespace meshwright::planner {

// A service is not planned closer to the rate at which its queue grows without end.
inline constexpr double kMostUtilization = 0.9;

struct PoolCandidate {
  ReplicaOptions options{};
  std::shared_ptr<const ServingReplica> replica{};
  MeanRequest request{};
  double rate = 0;     // requests a second of one replica within the limits, all its work
  double prefill = 0;  // the same of its prompts alone
  double decode = 0;   // of its answers alone
};

// What is kept of one layout's search.
struct LayoutResult {
  std::vector<PoolCandidate> candidates{};
  std::optional<ServingViolation> violation{};
  std::optional<ServingViolation> pool_violation{};  // as a prefill or a decode pool alone
  ReplicaOptions options{};
  int configurations = 0;
};

// Every layout of the question's space.
std::vector<ReplicaLayout> replica_layouts(const ServingQuestion& question);
std::vector<LayoutResult> search_layouts(const ServingQuestion& question, bool parallel);

// Whether replicas of this layout may stand in a prefill or a decode pool.
bool may_be_pool(const ServingSpace& space, const LayoutResult& result);
// Of one layout's variants the one that does most of this.
const PoolCandidate* best_variant(const LayoutResult& result, double PoolCandidate::*rate);

// Requests a second of one replica within the limits.
double aggregated_rate(const PoolCandidate& pool, const LatencyLimits& limits);
// All times longer by a factor: the same as limits shorter by it, and a rate below by it.
LatencyLimits divided(const LatencyLimits& limits, double factor);

}  // namespace meshwright::planner
