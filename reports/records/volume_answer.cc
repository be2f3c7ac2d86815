// SPDX-License-Identifier: Apache-2.0
#include "reports/records/volume_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"

namespace meshwright::reports {

const Record<VolumeAnswer>& volume_answer_record() {
  return described([](Record<VolumeAnswer>& r) {
    using R = VolumeAnswer;
    r.about("Every transfer of one layout, and the published orders.");
    r.file_of({"meshwright.volume/1"}, true);
    add_origin(r);
    r.row<&R::model>(model_record, "The model.");
    r.row<&R::job>(job_record, "The job.");
    r.row<&R::defaults>("What was not asked for, and has its default.");
    r.row<&R::layout>(layout_record, "The layout.");
    r.row<&R::volume>(volume_record, "Every transfer of a step.");
    r.row<&R::published_orders>(published_orders_record, "The rule of thumb TP > DP > PP.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
