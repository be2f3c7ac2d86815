// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_parts.h"

namespace meshwright::reports {

const Record<Percentiles>& percentiles_record() {
  return described([](Record<Percentiles>& r) {
    using P = Percentiles;
    r.about("Mean and percentiles.");
    r.row<&P::mean>("Mean.");
    r.row<&P::p50>("Median.");
    r.row<&P::p90>("90th percentile.");
    r.row<&P::p95>("95th percentile.");
    r.row<&P::p99>("99th percentile.");
  });
}

const Record<planner::Ranged>& interval_record() {
  return described([](Record<planner::Ranged>& r) {
    using R = planner::Ranged;
    r.about("A number and its 90 % interval.");
    r.row<&R::value>("The number.");
    r.row<&R::low>("Low end.");
    r.row<&R::high>("High end.");
    r.row<&R::basis>("What it rests on.");
  });
}

}  // namespace meshwright::reports
