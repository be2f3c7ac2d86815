// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_review.h"

namespace meshwright::reports {
namespace {

const Record<LaunchWord>& launch_word_record() {
  return described([](Record<LaunchWord>& r) {
    using W = LaunchWord;
    r.about("A word of the launch file.");
    r.row<&W::field>("Field that it says; empty: none.");
    r.row<&W::value>("Value of the field.");
    r.row<&W::said>("As the file says it.");
    r.row<&W::why>("Why it changes nothing, or is not understood.");
    r.row<&W::file>("Its file.");
    r.row<&W::line>(IntRange{.low = 0}, "Its line; 0: none.");
  });
}

const Record<BetterService>& better_service_record() {
  return described([](Record<BetterService>& r) {
    using B = BetterService;
    r.about("A deployment on as many GPUs that gives more tokens.");
    r.row<&B::deployment>("Replicas and sizes.");
    r.row<&B::gpus>("GPUs.");
    r.row<&B::max_num_seqs>("Running sequences, at most.");
    r.row<&B::max_num_batched_tokens>("Tokens of a step, at most.");
    r.row<&B::ttft>("Mean time to first token.");
    r.row<&B::tpot>("Mean time per output token.");
    r.row<&B::tokens_per_second_per_gpu>("Output tokens.");
  });
}

const Record<MeasuredLatency>& measured_latency_record() {
  return described([](Record<MeasuredLatency>& r) {
    using M = MeasuredLatency;
    r.about("A quantity of a benchmark's result, and what is predicted of the same load.");
    r.row<&M::result>("Name of the result.");
    r.row<&M::quantity>("Which: times in seconds, output_tps in tokens per second.");
    r.row<&M::measured>("By the benchmark's client.");
    r.row<&M::predicted>("Said here.");
    r.row<&M::low>("Lower end of the 90 % interval.");
    r.row<&M::high>("Upper end.");
  });
}

}  // namespace

const Record<ServingReviewFile>& serving_review_record() {
  return described([](Record<ServingReviewFile>& r) {
    using F = ServingReviewFile;
    r.about("A service as its launch file says it, and what is predicted of it.");
    r.file_of({"meshwright.serve_review/1"}, true);
    add_origin(r);
    r.row<&F::notes>("What a reader must know of it.");
    r.row<&F::form>("Form of the file.");
    r.row<&F::engine>("Inference engine.");
    r.row<&F::engine_version>("Of its image; empty: not said.");
    r.row<&F::model>("Model, as the file names it.");
    r.row<&F::read>(launch_word_record, "Words that say a field.");
    r.row<&F::assumed>(launch_word_record, "What the file does not say.");
    r.row<&F::passed_over>(launch_word_record, "Words that change no predicted number.");
    r.row<&F::not_understood>(launch_word_record,
                              "Words that were not understood; with any, nothing is judged.");
    r.row<&F::verdict>("not_judged, refused, fits or does_not_fit.");
    r.row<&F::reason>("Of the verdict.");
    r.row<&F::deployment>("Replicas and sizes.");
    r.row<&F::device>("GPU.");
    r.row<&F::gpus>(IntRange{.low = 0}, "Of the service; 0: not judged.");
    r.row<&F::kv_tokens>("Tokens that the cache of one attention group holds.");
    r.row<&F::measured_kv_tokens>("The same, as the engine's log says.");
    r.row<&F::largest_batch>("Requests that run together on one replica.");
    r.row<&F::ttft>("Time to first token, at the percentile.");
    r.row<&F::ttft_low>("Lower end of its 90 % interval.");
    r.row<&F::ttft_high>("Upper end.");
    r.row<&F::tpot>("Time per output token, at the percentile.");
    r.row<&F::tpot_low>("Lower end of its 90 % interval.");
    r.row<&F::tpot_high>("Upper end.");
    r.row<&F::percentile>("Percentile of the times; 0: means.");
    r.row<&F::meets_limits>("Tells whether the limits are met.");
    r.row<&F::tokens_per_second_per_gpu>("Output tokens.");
    r.row<&F::better>(better_service_record, "Best first.");
    r.row<&F::measured>(measured_latency_record, "Of the benchmark's result.");
  });
}

}  // namespace meshwright::reports
