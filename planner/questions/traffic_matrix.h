// SPDX-License-Identifier: Apache-2.0
// Bytes that each rank sends to each other rank in a step, from the communication volume table of
// every stage. Large jobs are summed over groups of consecutive ranks.
//
// A ring sends all to the next rank of its group, in the order of their numbers: all-reduce,
// all-gather, reduce-scatter, broadcast. An all-to-all sends each of the n - 1 others an equal
// part. Stages send activations to the next stage and gradients to the previous one; interleaved
// chunks go from the last stage to the first. Where a stage holds chunks of both directions (folded
// and mirrored schedules), each neighbour gets an equal part. Links inside the path, trees and
// copies of a token for each node are not in it (sim/volume/crossing.h has those).
#pragma once

#include <vector>

#include "sim/step/estimate.h"

namespace meshwright::planner {

inline constexpr int kMostTrafficGroups = 64;

struct TrafficCell {
  int from = 0, to = 0;  // groups of ranks
  Bytes sent;            // in a step
};

struct TrafficMatrix {
  int ranks_per_group = 1, groups = 0;
  std::vector<TrafficCell> cells{};  // those that carry anything, by `from`, then by `to`
  [[nodiscard]] Bytes sent() const;
};

TrafficMatrix traffic_matrix(const Estimate& estimate);

}  // namespace meshwright::planner
