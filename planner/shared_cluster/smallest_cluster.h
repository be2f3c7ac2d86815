// SPDX-License-Identifier: Apache-2.0
// The smallest cluster, in whole hosts, on which a training and a service both keep their limits.
//
// Days of a training fall with its GPUs. The search halves the ladder of round counts (1, 2, 3, 4,
// 6, 8, ... hosts of training beside the peak of the service), then tries whole hosts between the
// last two of them, smallest first.
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
  // Whole hosts between the row and the largest size that was shown to fail; not tried.
  int hosts_not_tried = 0;
  // Where there is none: the largest size that was tried.
  std::optional<SharedRow> nearest{};
};

// The least hosts that a training could need if its GPU-hours stay those of a run that keeps the
// deadline: ceil(hosts x days / allowed). At least 1.
int least_hosts(int hosts, double days, double allowed);

// `most_hosts`: of the whole cluster.
SmallestCluster smallest_cluster(const SharedInputs& in, TrainingCounts& counts, int most_hosts);

}  // namespace meshwright::planner
