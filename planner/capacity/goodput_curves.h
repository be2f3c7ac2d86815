// SPDX-License-Identifier: Apache-2.0
// Goodput of a run on other GPU counts and with other restart times, by the closed forms of the run
// itself (goodput.h, checkpoint.h, failures.h).
//
// The productive GPU-time stays that of the run: n GPUs train for productive x gpus / n. At the
// run's own count and restart time the value is the run's goodput.
#pragma once

#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

struct GoodputCurve {
  Seconds restart;
  std::vector<double> goodput{};  // one a count
};

struct GoodputCurves {
  std::vector<int> gpus{};  // ascending
  std::vector<GoodputCurve> curves{};
};

// Work that a count of GPUs does.
struct GoodputWork {
  Seconds productive, longest_step;
};
double goodput_at(const Model& model, const Job& job, const CapacityOptions& options, int gpus,
                  const GoodputWork& work);

// Counts and restart times are a quarter of the row's to four times of them; counts below one node
// of eight are left out. The row fits.
GoodputCurves goodput_curves(const CapacityQuestion& question, const CapacityRow& row);

}  // namespace meshwright::planner
