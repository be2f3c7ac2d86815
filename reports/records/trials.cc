// SPDX-License-Identifier: Apache-2.0
#include "reports/records/trials.h"

#include "sim/json/result_records.h"

namespace meshwright::reports {
namespace {

const Record<Trials>& tried_plan_record() {
  static const Record<Trials> record = [] {
    Record<Trials> r("The plan whose layouts were run.");
    r.row(&Trials::plan, "file", kind::text(), "As the user named it.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<Trials>& trials_record() {
  static const Record<Trials> record = [] {
    using R = Trials;
    Record<R> r("Layouts of a plan that were run.");
    r.file_of({"meshwright.trials/1"}, true);
    r.rows_of(
        origin_record(), [](auto& trials) -> auto& { return trials.origin; });
    r.row_at<R>(
        [](auto& trials) -> auto& { return trials; }, "plan", kind::object(tried_plan_record),
        "The plan whose layouts were run.");
    r.row(&R::observations, "observations", kind::list(observation_record),
          "What happened, a layout each.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
