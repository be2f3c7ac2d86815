// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_answer.h"

#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

const Record<ServingBatch>& serving_batch_record() {
  static const Record<ServingBatch> record = [] {
    using B = ServingBatch;
    const auto above = kind::number(kAboveZero);
    Record<B> r("Sequences that decode together, and the lengths of requests.");
    r.row(&B::sequences, "sequences", above, "Of each attention group.");
    r.row(&B::input, "input_tokens", above, "Tokens of a prompt.");
    r.row(&B::output, "output_tokens", above, "Tokens of an answer.");
    r.row(&B::tokens_per_step, "tokens_per_step", above, "Of each sequence.");
    return r.all_required();
  }();
  return record;
}

}  // namespace

const Record<ServingAnswer>& serving_answer_record() {
  static const Record<ServingAnswer> record = [] {
    using R = ServingAnswer;
    Record<R> r("Memory, largest batch and steps of one replica of an inference engine.");
    r.file_of({"meshwright.serve_estimate/1"}, true);
    r.row(&R::command, "command", kind::text(), "Makes the answer again.");
    r.row(&R::notes, "notes", kind::texts(), "What a reader must know of it.");
    r.row(&R::model, "model", kind::object(model_record), "The model.");
    r.row(&R::cluster, "cluster", kind::object(cluster_record), "The cluster.");
    r.row(&R::inference, "inference", kind::object(inference_rates_record),
          "Rates of inference kernels of its device.");
    r.row(&R::engine, "engine", kind::object(engine_record), "The engine.");
    r.row(&R::batch, "batch", kind::object(serving_batch_record), "What it runs.");
    r.row(&R::estimate, "estimate", kind::object(serving_estimate_record), "What is predicted.");
    return r.all_required();
  }();
  return record;
}

}  // namespace meshwright::reports
