// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

const Record<ServingBatch>& serving_batch_record() {
  return described([](Record<ServingBatch>& r) {
    using B = ServingBatch;
    r.about("Sequences that decode together, and the lengths of requests.");
    r.row<&B::sequences>(kAboveZero, "Of each attention group.");
    r.row<&B::input>("input_tokens", kAboveZero, "Tokens of a prompt.");
    r.row<&B::output>("output_tokens", kAboveZero, "Tokens of an answer.");
    r.row<&B::tokens_per_step>(kAboveZero, "Of each sequence.");
    r.all_required();
  });
}

}  // namespace

const Record<ServingAnswer>& serving_answer_record() {
  return described([](Record<ServingAnswer>& r) {
    using R = ServingAnswer;
    r.about("Memory, largest batch and steps of one replica of an inference engine.");
    r.file_of({"meshwright.serve_estimate/1"}, true);
    add_origin(r);
    r.row<&R::notes>("What a reader must know of it.");
    r.row<&R::model>(model_record, "The model.");
    r.row<&R::cluster>(cluster_record, "The cluster.");
    r.row<&R::inference>(inference_rates_record, "Rates of inference kernels of its device.");
    r.row<&R::engine>(engine_record, "The engine.");
    r.row<&R::batch>(serving_batch_record, "What it runs.");
    r.row<&R::estimate>(serving_estimate_record, "What is predicted.");
    r.all_required();
  });
}

}  // namespace meshwright::reports
