// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_parts.h"

namespace meshwright::reports {

const Record<Percentiles>& percentiles_record() {
  static const Record<Percentiles> record = [] {
    using P = Percentiles;
    const auto time = kind::base_amount<Seconds>();
    Record<P> r("Mean and percentiles.");
    r.row(&P::mean, "mean_seconds", time, "Mean.");
    r.row(&P::p50, "p50_seconds", time, "Median.");
    r.row(&P::p90, "p90_seconds", time, "90th percentile.");
    r.row(&P::p95, "p95_seconds", time, "95th percentile.");
    r.row(&P::p99, "p99_seconds", time, "99th percentile.");
    return r;
  }();
  return record;
}

const Record<planner::Ranged>& interval_record() {
  static const Record<planner::Ranged> record = [] {
    using R = planner::Ranged;
    Record<R> r("A number and its 90 % interval.");
    r.row(&R::value, "value", kind::number(), "The number.");
    r.row(&R::low, "low", kind::number(), "Low end.");
    r.row(&R::high, "high", kind::number(), "High end.");
    r.row(&R::basis, "basis", kind::text(), "What it rests on.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
