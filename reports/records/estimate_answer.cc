// SPDX-License-Identifier: Apache-2.0
#include "reports/records/estimate_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/result_records.h"

namespace meshwright::reports {
namespace {

const Record<MemoryVerdict>& memory_verdict_record() {
  static const Record<MemoryVerdict> record = [] {
    using R = MemoryVerdict;
    const auto too_large = [](const R& verdict) { return !verdict.fits; };
    Record<R> r("Whether the devices have the memory that the layout needs.");
    r.row<&R::fits>("Whether it fits; else the other keys say why not.").required();
    r.row<&R::rule>("The rule that it breaks.").only_if(too_large);
    r.row<&R::needed>("What the device that needs most takes.").only_if(too_large);
    r.row<&R::available>("What a device has.").only_if(too_large);
    r.row<&R::sentence>("The same in words.").only_if(too_large);
    r.row<&R::smallest_change>("The single change with which it fits; empty: none was found.")
        .only_if(too_large);
    return r;
  }();
  return record;
}

}  // namespace

const Record<EstimateAnswer>& estimate_answer_record() {
  return described([](Record<EstimateAnswer>& r) {
    using R = EstimateAnswer;
    r.about("Time, memory and volume of one layout.");
    r.file_of({"meshwright.estimate/1"}, true);
    add_origin(r);
    r.row<&R::model>(model_record, "The model.");
    r.row<&R::cluster>(cluster_record, "The cluster.");
    r.row<&R::job>(job_record, "The job.");
    r.row<&R::defaults>("What was not asked for, and has its default.");
    r.row<&R::notes>("What was not measured, is unproven, or is used in part.")
        .omitted_at_default();
    r.row<&R::verdict>(memory_verdict_record, "Whether it fits.");
    r.row<&R::estimate>(estimate_record, "What was predicted.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
