// SPDX-License-Identifier: Apache-2.0
#include "reports/records/trials.h"

#include "sim/json/result_records.h"

namespace meshwright::reports {
namespace {

const Record<Trials>& tried_plan_record() {
  return described([](Record<Trials>& r) {
    r.about("The plan whose layouts were run.");
    r.row<&Trials::plan>("file", "As the user named it.");
    r.all_required();
  });
}

}  // namespace

const Record<Trials>& trials_record() {
  return described([](Record<Trials>& r) {
    using R = Trials;
    r.about("Layouts of a plan that were run.");
    r.file_of({"meshwright.trials/1"}, true);
    add_origin(r);
    r.row_at(
        [](auto& trials) -> auto& { return trials; }, "plan", tried_plan_record,
        "The plan whose layouts were run.");
    r.row<&R::observations>(observation_record, "What happened, a layout each.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
