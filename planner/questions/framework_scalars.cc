// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/framework_scalars.h"

#include <array>

namespace meshwright::planner {
namespace {

constexpr std::array kScalars{
    FrameworkScalarName{FrameworkScalar::gemm_time_factor, "gemm_time_factor"},
    FrameworkScalarName{FrameworkScalar::kernel_time_factor, "kernel_time_factor"},
    FrameworkScalarName{FrameworkScalar::collective_time_factor, "collective_time_factor"},
    FrameworkScalarName{FrameworkScalar::host_launch, "host_launch"},
    FrameworkScalarName{FrameworkScalar::micro_batch_overhead, "micro_batch_overhead"},
    FrameworkScalarName{FrameworkScalar::step_overhead, "step_overhead"},
    FrameworkScalarName{FrameworkScalar::experts_kernel_time_factor, "experts_kernel_time_factor"}};

// Where a scalar starts and how far, in natural logarithms, it is expected to go.
struct Prior {
  double start = 1.0;
  double deviation = 0.3;
};

Prior scalar_prior(FrameworkScalar scalar, const RefitPrior& prior = {}) {
  const double wider = prior.factor_deviation / RefitPrior{}.factor_deviation;
  switch (scalar) {
    case FrameworkScalar::host_launch:
      return {30e-6, 1.0 * wider};
    case FrameworkScalar::micro_batch_overhead:
      return {5e-4, 1.5 * wider};
    case FrameworkScalar::step_overhead:
      return {5e-3, 1.5 * wider};
    default:
      return {1.0, prior.factor_deviation};
  }
}

}  // namespace

std::span<const FrameworkScalarName> framework_scalars() { return kScalars; }

std::vector<double> prior_deviations(const std::vector<FrameworkScalar>& scalars,
                                     const RefitPrior& prior) {
  std::vector<double> deviations;
  for (const FrameworkScalar scalar : scalars)
    deviations.push_back(scalar_prior(scalar, prior).deviation);
  return deviations;
}

double value_of(FrameworkScalar scalar, const Framework& f) {
  switch (scalar) {
    case FrameworkScalar::gemm_time_factor:
      return f.gemm_time_factor;
    case FrameworkScalar::kernel_time_factor:
      return f.kernel_time_factor;
    case FrameworkScalar::collective_time_factor:
      return f.collective_time_factor;
    case FrameworkScalar::host_launch:
      return f.host_launch.value();
    case FrameworkScalar::micro_batch_overhead:
      return f.micro_batch_overhead.value();
    case FrameworkScalar::step_overhead:
      return f.step_overhead.value();
    case FrameworkScalar::experts_kernel_time_factor:
      return f.experts.kernel_time_factor;
  }
  return 0;
}

double start_of(FrameworkScalar scalar, const Framework& framework) {
  const double before = value_of(scalar, framework);
  return before > 0 ? before : scalar_prior(scalar).start;
}

Framework with_value(Framework f, FrameworkScalar scalar, double value) {
  switch (scalar) {
    case FrameworkScalar::gemm_time_factor:
      f.gemm_time_factor = value;
      return f;
    case FrameworkScalar::kernel_time_factor:
      f.kernel_time_factor = value;
      return f;
    case FrameworkScalar::collective_time_factor:
      f.collective_time_factor = value;
      return f;
    case FrameworkScalar::host_launch:
      f.host_launch = seconds(value);
      return f;
    case FrameworkScalar::micro_batch_overhead:
      f.micro_batch_overhead = seconds(value);
      return f;
    case FrameworkScalar::step_overhead:
      f.step_overhead = seconds(value);
      return f;
    case FrameworkScalar::experts_kernel_time_factor:
      f.experts.kernel_time_factor = value;
      return f;
  }
  return f;
}

std::vector<FrameworkScalar> all_framework_scalars() {
  std::vector<FrameworkScalar> scalars;
  for (const FrameworkScalarName& name : framework_scalars()) scalars.push_back(name.scalar);
  return scalars;
}

}  // namespace meshwright::planner
