// SPDX-License-Identifier: Apache-2.0
#include "reports/records/estimate_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"

namespace meshwright::reports {
namespace {

const Record<MemoryVerdict>& memory_verdict_record() {
  static const Record<MemoryVerdict> record = [] {
    using R = MemoryVerdict;
    const auto amount = kind::base_amount<Bytes>();
    const auto too_large = [](const R& verdict) { return !verdict.fits; };
    Record<R> r("Whether the devices have the memory that the layout needs.");
    r.row(&R::fits, "fits", kind::flag(), "Whether it fits; else the other keys say why not.")
        .required();
    r.row(&R::rule, "rule", kind::text(), "The rule that it breaks.").only_if(too_large);
    r.row(&R::needed, "needed_bytes", amount, "What the device that needs most takes.")
        .only_if(too_large);
    r.row(&R::available, "available_bytes", amount, "What a device has.").only_if(too_large);
    r.row(&R::sentence, "sentence", kind::text(), "The same in words.").only_if(too_large);
    r.row(&R::smallest_change, "smallest_change", kind::text(),
          "The single change with which it fits; empty: none was found.")
        .only_if(too_large);
    return r;
  }();
  return record;
}

}  // namespace

const Record<EstimateAnswer>& estimate_answer_record() {
  static const Record<EstimateAnswer> record = [] {
    using R = EstimateAnswer;
    Record<R> r("Time, memory and volume of one layout.");
    r.file_of({"meshwright.estimate/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the answer again.");
    r.row(&R::model, "model", kind::object(model_record), "The model.");
    r.row(&R::cluster, "cluster", kind::object(cluster_record), "The cluster.");
    r.row(&R::job, "job", kind::object(job_record), "The job.");
    r.row(&R::defaults, "defaults", kind::texts(), "What was not asked for, and has its default.");
    r.row(&R::notes, "notes", kind::texts(),
          "What was not measured, is unproven, or is used in part.")
        .omitted_at_default();
    r.row(&R::verdict, "verdict", kind::object(memory_verdict_record), "Whether it fits.");
    r.row(&R::estimate, "estimate", kind::object(estimate_record), "What was predicted.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
