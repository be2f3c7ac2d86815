// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/framework_scalars.h"

#include <array>

namespace meshwright::planner {
namespace {

constexpr std::array kTerms{
    FitTermName{FitTerm::gemm_time_factor, "gemm_time_factor"},
    FitTermName{FitTerm::kernel_time_factor, "kernel_time_factor"},
    FitTermName{FitTerm::collective_time_factor, "collective_time_factor"},
    FitTermName{FitTerm::host_launch, "host_launch"},
    FitTermName{FitTerm::micro_batch_overhead, "micro_batch_overhead"},
    FitTermName{FitTerm::step_overhead, "step_overhead"},
    FitTermName{FitTerm::experts_kernel_time_factor, "experts_kernel_time_factor"}};

// Where a term starts and how far, in natural logarithms, it is expected to go.
struct Prior {
  double start = 1.0;
  double deviation = 0.3;
};

Prior prior_of(FitTerm term, const RefitPrior& prior = {}) {
  const double wider = prior.factor_deviation / RefitPrior{}.factor_deviation;
  switch (term) {
    case FitTerm::host_launch:
      return {30e-6, 1.0 * wider};
    case FitTerm::micro_batch_overhead:
      return {5e-4, 1.5 * wider};
    case FitTerm::step_overhead:
      return {5e-3, 1.5 * wider};
    default:
      return {1.0, prior.factor_deviation};
  }
}

}  // namespace

std::span<const FitTermName> fit_terms() { return kTerms; }

std::vector<double> prior_deviations(const std::vector<FitTerm>& terms, const RefitPrior& prior) {
  std::vector<double> deviations;
  for (const FitTerm term : terms) deviations.push_back(prior_of(term, prior).deviation);
  return deviations;
}

double value_of(FitTerm term, const Framework& f) {
  switch (term) {
    case FitTerm::gemm_time_factor:
      return f.gemm_time_factor;
    case FitTerm::kernel_time_factor:
      return f.kernel_time_factor;
    case FitTerm::collective_time_factor:
      return f.collective_time_factor;
    case FitTerm::host_launch:
      return f.host_launch.value();
    case FitTerm::micro_batch_overhead:
      return f.micro_batch_overhead.value();
    case FitTerm::step_overhead:
      return f.step_overhead.value();
    case FitTerm::experts_kernel_time_factor:
      return f.experts.kernel_time_factor;
  }
  return 0;
}

double start_of(FitTerm term, const Framework& framework) {
  const double before = value_of(term, framework);
  return before > 0 ? before : prior_of(term).start;
}

Framework with_value(Framework f, FitTerm term, double value) {
  switch (term) {
    case FitTerm::gemm_time_factor:
      f.gemm_time_factor = value;
      return f;
    case FitTerm::kernel_time_factor:
      f.kernel_time_factor = value;
      return f;
    case FitTerm::collective_time_factor:
      f.collective_time_factor = value;
      return f;
    case FitTerm::host_launch:
      f.host_launch = seconds(value);
      return f;
    case FitTerm::micro_batch_overhead:
      f.micro_batch_overhead = seconds(value);
      return f;
    case FitTerm::step_overhead:
      f.step_overhead = seconds(value);
      return f;
    case FitTerm::experts_kernel_time_factor:
      f.experts.kernel_time_factor = value;
      return f;
  }
  return f;
}

std::vector<FitTerm> all_fit_terms() {
  std::vector<FitTerm> terms;
  for (const FitTermName& name : fit_terms()) terms.push_back(name.term);
  return terms;
}

}  // namespace meshwright::planner
