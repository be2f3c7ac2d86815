// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/framework_scalars.h"

namespace meshwright::planner {

double start_of(FrameworkScalar scalar, const Framework& framework) {
  const double before = value_of(scalar, framework);
  return before > 0 ? before : row_of(scalar).usual;
}

std::vector<double> prior_deviations(const std::vector<FrameworkScalar>& scalars,
                                     const RefitPrior& prior) {
  const double wider = prior.factor_deviation / RefitPrior{}.factor_deviation;
  std::vector<double> deviations;
  for (const FrameworkScalar scalar : scalars) {
    const FrameworkScalarRow& row = row_of(scalar);
    deviations.push_back(row.is_time() ? row.deviation * wider : prior.factor_deviation);
  }
  return deviations;
}

std::vector<FrameworkScalar> all_framework_scalars() {
  std::vector<FrameworkScalar> scalars;
  for (const FrameworkScalarRow& row : kFrameworkScalars) {
    if (row.is_refitted) scalars.push_back(row.scalar);
  }
  return scalars;
}

}  // namespace meshwright::planner
