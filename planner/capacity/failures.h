// SPDX-License-Identifier: Apache-2.0
// How often a training job is interrupted, and what spare nodes cover.
#pragma once

#include "sim/base/units.h"

namespace meshwright::planner {

// Fleets report failures of nodes of eight GPUs; other nodes count by their GPUs.
inline constexpr int kGpusOfAReportedNode = 8;

// M = 1 / (N r), with N nodes of eight GPUs that fail r times a day (Kokolis et al., "Revisiting
// Reliability in Large-Scale Machine Learning Research Clusters", arXiv 2410.21680). Causes that
// are not in r, such as a job's own errors, are not in M: small jobs are interrupted more often.
Seconds mean_time_between_failures(int gpus, double per_thousand_node_days);

// The smallest number of spare nodes that are enough with probability `target`, when N r
// repair_days nodes are away on average: their number is Poisson, each failure for itself.
int spare_nodes(int gpus, double per_thousand_node_days, double repair_days, double target);

}  // namespace meshwright::planner
