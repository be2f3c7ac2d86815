// SPDX-License-Identifier: Apache-2.0
// The scalars of a framework that refits move, and how far each is expected to be from where the
// framework's file has it. All layouts of one machine share them.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/hardware/framework_scalars.h"

namespace meshwright::planner {

inline constexpr std::size_t kMostFittedScalars = 6;

// Where a fit starts: the framework's value, or a usual one where its file leaves the scalar out.
double start_of(FrameworkScalar scalar, const Framework& framework);

// Prior spread of the scalars around their start values, and of a run around its prediction.
struct RefitPrior {
  // Prior standard deviation of a factor's logarithm; that of times is proportional.
  double factor_deviation = 0.3;
  double residual_scale = 0.05;  // a prediction so far off counts as one standard deviation
};
// Standard deviations of the scalars' logarithms.
std::vector<double> prior_deviations(const std::vector<FrameworkScalar>& scalars,
                                     const RefitPrior& prior);

// Every scalar that a refit may move: those that the runs say nothing about keep their prior.
std::vector<FrameworkScalar> all_framework_scalars();

}  // namespace meshwright::planner
