// SPDX-License-Identifier: Apache-2.0
// The same job on several GPU counts: the best layout of each, and which of all are worth a choice:
// the Pareto set over step time, free memory, GPUs and cost.
#pragma once

#include <string>
#include <vector>

#include "planner/search/objective.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct ScalePoint {
  int gpus = 0;
  std::optional<Layout> layout;  // nothing when no layout fits, or none obeys the limits
  std::string reason;            // then: why
  Seconds step_time;
  Seconds step_time_low, step_time_high;  // the 90 % interval
  Bytes peak_memory;
  double memory_headroom = 0;  // share of the device's memory
  double tokens_per_second_per_gpu = 0;
  double model_flops_utilization = 0;  // 0 to 1
  double efficiency = 0;               // tokens a second a GPU, beside the first count that fits
  // Of the whole training: cost in the currency of the price, energy of the devices in kWh.
  std::optional<double> cost, device_energy_kwh;
  double objective = 0;
};

// A layout on a GPU count that no other beats in step time, free memory, GPUs and GPU-hours at
// once.
struct Choice {
  int gpus = 0;
  Layout layout;
  Seconds step_time;
  Bytes peak_memory;
  double gpu_seconds = 0;  // GPU-seconds per step: cost without the price
};

struct Scaling {
  std::vector<ScalePoint> points;   // in the order of the counts
  std::vector<Choice> choices;      // by GPUs, then step time
  std::optional<std::size_t> best;  // index of the best point by the objective, within the limits
};

struct ScalingOptions {
  std::vector<int> gpus;
  Objective objective = Objective::step_time;
  Limits limits;
};

// One search a count. Throws InputError for a count that whole nodes cannot give.
Scaling scaling(const Scenario& scenario, const SearchOptions& search,
                const ScalingOptions& options);

// The same step on a quarter to four times the plan's GPUs, in parts of a node or whole nodes:
// points alone, since nobody asked for a choice. No points where only one count is possible, or no
// layout fits the plan's own.
Scaling scaling_around(const Plan& plan, const SearchOptions& search);

// The fewest GPUs on which a layout meets the limits. Counts double until one has such a layout;
// then those between it and the last that has none are halved, to one node or 2 %. `best` is that
// count, and there are no choices. `failed`: a count that is known to be too small; 0: none.
Scaling least_gpus(const Scenario& scenario, const SearchOptions& search,
                   const ScalingOptions& options, int failed = 0);

}  // namespace meshwright::planner
