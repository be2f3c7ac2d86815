// SPDX-License-Identifier: Apache-2.0
// The smallest cluster, in whole hosts, on which a training and a service both keep their limits.
//
// Days of a training fall with its GPUs. The search halves the ladder of round counts (1, 2, 3, 4,
// 6, 8, ... hosts of training beside the peak of the service) for the first that keeps the
// deadline, and goes up from there to the first that meets all limits. Then it tries whole hosts
// between that count and the one below it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/shared_cluster/shared_run.h"

namespace meshwright::planner {

// Counts between two rungs that are tried, at most: each is a search of layouts.
inline constexpr int kMostCountsTried = 8;

struct SmallestCluster {
  std::optional<SharedRow> row{};  // nothing: no size up to `most_gpus` keeps the limits
  int most_gpus = 0;
  // Sizes below the row, and above the largest one that was shown to fail, that were not tried.
  int hosts_not_tried = 0;
  // Where there is none: the smallest that keeps the deadline, else the largest.
  std::optional<SharedRow> nearest{};
};

// Hosts on which a training keeps the deadline if its GPU-hours stay those of a run that keeps it:
// ceil(hosts x days / allowed), at least 1. On fewer hosts GPU-hours may be fewer: no lower bound.
int least_hosts(int hosts, double days, double allowed);

// `most_hosts`: of the whole cluster.
SmallestCluster smallest_cluster(const SharedInputs& in, TrainingCounts& counts, int most_hosts);

}  // namespace meshwright::planner
