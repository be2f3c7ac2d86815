// SPDX-License-Identifier: Apache-2.0
// The scalars of a framework (sim/hardware/framework.h) that measured runs can teach, and how far
// each is expected to be from where the framework's file has it. All layouts of one machine share
// them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "sim/hardware/framework.h"

namespace meshwright::planner {

enum class FrameworkScalar {
  gemm_time_factor,
  kernel_time_factor,
  collective_time_factor,
  host_launch,
  micro_batch_overhead,
  step_overhead,
  experts_kernel_time_factor,  // ExpertFacts::kernel_time_factor
};

struct FrameworkScalarName {
  FrameworkScalar scalar;
  std::string_view name;
};
std::span<const FrameworkScalarName> framework_scalars();
inline constexpr std::size_t kMostFittedScalars = 6;

double value_of(FrameworkScalar scalar, const Framework& framework);  // a factor, or seconds
// Where a fit starts: the framework's value, or a usual one where its file leaves the scalar out.
double start_of(FrameworkScalar scalar, const Framework& framework);
Framework with_value(Framework framework, FrameworkScalar scalar, double value);

// How far the scalars are expected to be from where they start, and a run from its prediction.
struct RefitPrior {
  double factor_deviation = 0.3;  // of a factor's logarithm; times are wider in proportion
  double residual_scale = 0.05;   // a prediction so far off counts as one standard deviation
};
// Of the scalars' logarithms.
std::vector<double> prior_deviations(const std::vector<FrameworkScalar>& scalars,
                                     const RefitPrior& prior);

// Every scalar there is: those that the runs say nothing about keep their prior.
std::vector<FrameworkScalar> all_framework_scalars();

}  // namespace meshwright::planner
