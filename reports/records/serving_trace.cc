// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_trace.h"

#include "reports/records/parts.h"

namespace meshwright::reports {
namespace {

const Record<TracedTokens>& traced_tokens_record() {
  return described([](Record<TracedTokens>& r) {
    r.about("Tokens of a request.");
    r.named("TracedTokens");
    r.row<&TracedTokens::request>(IntRange{.low = 0}, "Its place in the load, from 0.");
    r.row<&TracedTokens::tokens>(IntRange{.low = 0}, "Tokens.");
    r.all_required();
  });
}

const Record<TracedStep>& traced_step_record() {
  return described([](Record<TracedStep>& r) {
    using S = TracedStep;
    r.about("A step, as its engine composed it. An idle engine has none.");
    r.named("TracedStep");
    r.row<&S::replica>(IntRange{.low = 0}, "Number of the replica, from 0.");
    r.row<&S::group>(IntRange{.low = 0}, "Attention's data rank, or a stream of the pipeline.");
    r.row<&S::start>("start_seconds", "Since the load began.");
    r.row<&S::end>("end_seconds", "When its tokens are out.");
    r.row<&S::batch>(traced_tokens_record, "Rows of each request, the oldest first.");
    r.row<&S::running>(IntRange{.low = 0}, "Requests with a place in the cache.");
    r.row<&S::waiting>(IntRange{.low = 0}, "Requests without one.");
    r.row<&S::free_blocks>(IntRange{.low = 0}, "Blocks of the cache that no request holds.");
    r.all_required();
    r.row<&S::cached>(traced_tokens_record, "Prefix hits of requests that start.");
    r.omitted_at_default();
    r.row<&S::preempted>(IntRange{.low = 0}, "Requests that are preempted before the step.");
    r.omitted_at_default();
    r.row<&S::finished>(IntRange{.low = 0}, "Requests that end with the step.");
    r.omitted_at_default();
  });
}

}  // namespace

const Record<ServingTraceFile>& serving_trace_record() {
  return described([](Record<ServingTraceFile>& r) {
    using F = ServingTraceFile;
    r.about("Steps of a service under a load.");
    r.file_of({"meshwright.serve_trace/1"}, true);
    add_origin(r);
    r.row<&F::block_size>(IntRange{.low = 1}, "Tokens of a block of the cache.");
    r.row<&F::steps>(
        traced_step_record,
        "Replica by replica; of each in the order of their ends, equal steps of a group together.");
  });
}

}  // namespace meshwright::reports
