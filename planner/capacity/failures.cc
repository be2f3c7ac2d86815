// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/failures.h"

#include <cmath>

namespace meshwright::planner {
namespace {

double failures_a_day(int gpus, double per_thousand_node_days) {
  return static_cast<double>(gpus) / kGpusOfAReportedNode * per_thousand_node_days / 1000.0;
}

}  // namespace

Seconds mean_time_between_failures(int gpus, double per_thousand_node_days) {
  constexpr double kSecondsPerDay = 86400.0;
  return seconds(kSecondsPerDay / failures_a_day(gpus, per_thousand_node_days));
}

// Terms through logarithms, so that means of thousands do not underflow.
int spare_nodes(int gpus, double per_thousand_node_days, double repair_days, double target) {
  const double mean = failures_a_day(gpus, per_thousand_node_days) * repair_days;
  if (mean <= 0.0) return 0;
  const double enough = std::fmin(target, 1.0 - 1e-9);
  int spares = 0;
  double sum = std::exp(-mean);
  while (sum < enough) {
    ++spares;
    sum += std::exp(spares * std::log(mean) - mean - std::lgamma(spares + 1.0));
  }
  return spares;
}

}  // namespace meshwright::planner
