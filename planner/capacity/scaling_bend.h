// SPDX-License-Identifier: Apache-2.0
// Where more GPUs stop paying, and what of the run takes what they were to bring.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

// From one count to the next: speed gained over GPUs added, both as shares. 1: all of them count.
struct ScalingStep {
  std::size_t from = 0, to = 0;  // rows
  double gain = 1.0;
  // GPU-seconds a token that the larger count takes more: the part that grew most, and its share of
  // all that grew. A term of the step, or "lost_time" (failures, checkpoints, starts).
  std::string term{};
  double share_of_growth = 0.0;
};

// The counts of one cluster and batch that fit, fewest first.
struct ScalingSeries {
  std::size_t cluster_case = 0;
  int global_batch_size = 0;
  bool scheduled = false;
  std::vector<std::size_t> rows{};
  std::vector<ScalingStep> steps{};
  std::optional<std::size_t> bend{};  // of steps: the first that gains less than kBendGain
};
inline constexpr double kBendGain = 0.8;

std::vector<ScalingSeries> scaling_series(const std::vector<CapacityRow>& rows);

}  // namespace meshwright::planner
