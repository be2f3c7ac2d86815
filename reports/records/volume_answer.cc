// SPDX-License-Identifier: Apache-2.0
#include "reports/records/volume_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"

namespace meshwright::reports {

const Record<VolumeAnswer>& volume_answer_record() {
  static const Record<VolumeAnswer> record = [] {
    using R = VolumeAnswer;
    Record<R> r("Every transfer of one layout, and the published orders.");
    r.file_of({"meshwright.volume/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the answer again.");
    r.row(&R::model, "model", kind::object(model_record), "The model.");
    r.row(&R::job, "job", kind::object(job_record), "The job.");
    r.row(&R::defaults, "defaults", kind::texts(), "What was not asked for, and has its default.");
    r.row(&R::layout, "layout", kind::object(layout_record), "The layout.");
    r.row(&R::volume, "volume", kind::object(volume_record), "Every transfer of a step.");
    r.row(&R::published_orders, "published_orders", kind::object(published_orders_record),
          "The rule of thumb TP > DP > PP.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
