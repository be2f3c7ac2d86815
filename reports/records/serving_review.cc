// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_review.h"

namespace meshwright::reports {
namespace {

const Record<LaunchWord>& launch_word_record() {
  static const Record<LaunchWord> record = [] {
    using W = LaunchWord;
    Record<W> r("A word of the launch file.");
    r.row(&W::field, "field", kind::text(), "Field that it says; empty: none.");
    r.row(&W::value, "value", kind::text(), "Value of the field.");
    r.row(&W::said, "said", kind::text(), "As the file says it.");
    r.row(&W::why, "why", kind::text(), "Why it changes nothing, or is not understood.");
    r.row(&W::file, "file", kind::text(), "Its file.");
    r.row(&W::line, "line", kind::integer({.low = 0}), "Its line; 0: none.");
    return r;
  }();
  return record;
}

const Record<BetterService>& better_service_record() {
  static const Record<BetterService> record = [] {
    using B = BetterService;
    Record<B> r("A deployment on as many GPUs that gives more tokens.");
    r.row(&B::deployment, "deployment", kind::text(), "Replicas and sizes.");
    r.row(&B::gpus, "gpus", kind::integer(), "GPUs.");
    r.row(&B::max_num_seqs, "max_num_seqs", kind::integer(), "Running sequences, at most.");
    r.row(&B::max_num_batched_tokens, "max_num_batched_tokens", kind::integer(),
          "Tokens of a step, at most.");
    r.row(&B::ttft, "ttft_seconds", kind::base_amount<Seconds>(), "Mean time to first token.");
    r.row(&B::tpot, "tpot_seconds", kind::base_amount<Seconds>(), "Mean time per output token.");
    r.row(&B::tokens_per_second_per_gpu, "tokens_per_second_per_gpu", kind::number(),
          "Output tokens.");
    return r;
  }();
  return record;
}

const Record<MeasuredLatency>& measured_latency_record() {
  static const Record<MeasuredLatency> record = [] {
    using M = MeasuredLatency;
    Record<M> r("A quantity of a benchmark's result, and what is predicted of the same load.");
    r.row(&M::result, "result", kind::text(), "Name of the result.");
    r.row(&M::quantity, "quantity", kind::text(),
          "Which: times in seconds, output_tps in tokens per second.");
    r.row(&M::measured, "measured", kind::number(), "By the benchmark's client.");
    r.row(&M::predicted, "predicted", kind::number(), "Said here.");
    r.row(&M::low, "low", kind::number(), "Lower end of the 90 % interval.");
    r.row(&M::high, "high", kind::number(), "Upper end.");
    return r;
  }();
  return record;
}

}  // namespace

const Record<ServingReviewFile>& serving_review_record() {
  static const Record<ServingReviewFile> record = [] {
    using F = ServingReviewFile;
    Record<F> r("A service as its launch file says it, and what is predicted of it.");
    r.file_of({"meshwright.serve_review/1"}, true);
    r.row(&F::command, "command", kind::text(), "Makes the answer again.");
    r.row(&F::notes, "notes", kind::texts(), "What a reader must know of it.");
    r.row(&F::form, "form", kind::text(), "Form of the file.");
    r.row(&F::engine, "engine", kind::text(), "Inference engine.");
    r.row(&F::engine_version, "engine_version", kind::text(), "Of its image; empty: not said.");
    r.row(&F::model, "model", kind::text(), "Model, as the file names it.");
    r.row(&F::read, "read", kind::list(launch_word_record), "Words that say a field.");
    r.row(&F::assumed, "assumed", kind::list(launch_word_record), "What the file does not say.");
    r.row(&F::passed_over, "passed_over", kind::list(launch_word_record),
          "Words that change no predicted number.");
    r.row(&F::not_understood, "not_understood", kind::list(launch_word_record),
          "Words that were not understood; with any, nothing is judged.");
    r.row(&F::verdict, "verdict", kind::text(), "not_judged, refused, fits or does_not_fit.");
    r.row(&F::reason, "reason", kind::text(), "Of the verdict.");
    r.row(&F::deployment, "deployment", kind::text(), "Replicas and sizes.");
    r.row(&F::device, "device", kind::text(), "GPU.");
    r.row(&F::gpus, "gpus", kind::integer({.low = 0}), "Of the service; 0: not judged.");
    r.row(&F::kv_tokens, "kv_tokens", kind::optional(kind::number()),
          "Tokens that the cache of one attention group holds.");
    r.row(&F::measured_kv_tokens, "measured_kv_tokens", kind::optional(kind::number()),
          "The same, as the engine's log says.");
    r.row(&F::largest_batch, "largest_batch", kind::optional(kind::number()),
          "Requests that run together on one replica.");
    r.row(&F::ttft, "ttft_seconds", kind::optional(kind::base_amount<Seconds>()),
          "Mean time to first token.");
    r.row(&F::tpot, "tpot_seconds", kind::optional(kind::base_amount<Seconds>()),
          "Mean time per output token.");
    r.row(&F::tokens_per_second_per_gpu, "tokens_per_second_per_gpu",
          kind::optional(kind::number()), "Output tokens.");
    r.row(&F::better, "better", kind::list(better_service_record), "Best first.");
    r.row(&F::measured, "measured", kind::list(measured_latency_record),
          "Of the benchmark's result.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
