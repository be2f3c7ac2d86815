// SPDX-License-Identifier: Apache-2.0
// What training takes: steps = train_tokens / (batch x sequence), rounded up; time = steps x step
// time; GPU-hours = time x GPUs; cost = GPU-hours x price; energy = time x GPUs x device power.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/job.h"
#include "sim/base/units.h"
#include "sim/hardware/cluster.h"

namespace meshwright::planner {

// Sentence about the parts of TrainingCost::cost, printed with each sum.
inline constexpr std::string_view kCostOfSteps =
    "cost = steps x step time x GPUs x price; failures, checkpoints and spare nodes are not in it";

struct TrainingCost {
  double steps = 0;  // optimizer steps of the training
  Seconds train_time;
  double gpu_hours = 0;
  std::optional<double> cost;  // in the price's currency; nothing when no price is stated
  std::optional<double> device_energy_kwh;  // the devices' own, no cooling; nothing without power
};

inline constexpr double kSecondsPerHour = 3600.0;
inline constexpr double days(Seconds time) { return time.value() / 86400.0; }

double train_steps(double train_tokens, const Job& job);
// Nothing when the job does not say how many tokens to train on.
std::optional<TrainingCost> training_cost(const Job& job, const Cluster& cluster,
                                          Seconds step_time);

}  // namespace meshwright::planner
