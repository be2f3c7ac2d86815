// SPDX-License-Identifier: Apache-2.0
// Services that were run, as JSON and back. What there is much of stands in rows of numbers.
#include "sim/json/result_records.h"
#include "sim/json/serving_records.h"
#include "sim/serving/serving_observation.h"

namespace meshwright {
namespace {

// A list of values as rows of so many numbers.
template <typename T>
Kind<std::vector<T>> values_as_rows(std::size_t columns, std::vector<double> (*row)(const T&),
                                    T (*value)(const std::vector<double>&)) {
  using Rows = std::vector<std::vector<double>>;
  return kind::as<std::vector<T>>(
      kind::number_rows(columns),
      [row](const std::vector<T>& values) {
        Rows rows;
        for (const T& one : values) rows.push_back(row(one));
        return rows;
      },
      [value](const Rows& rows) {
        std::vector<T> values;
        for (const auto& one : rows) values.push_back(value(one));
        return values;
      });
}

Kind<std::vector<RequestTiming>> timing_rows() {
  return values_as_rows<RequestTiming>(
      kRequestTimingNumbers, [](const RequestTiming& t) { return numbers_of(t); },
      [](const std::vector<double>& row) { return request_timing_of(row); });
}

Kind<std::vector<TokenGap>> gap_rows() {
  return values_as_rows<TokenGap>(
      2,
      [](const TokenGap& g) {
        return std::vector<double>{g.gap.value(), g.count};
      },
      [](const std::vector<double>& row) {
        return TokenGap{seconds(row[0]), row[1]};
      });
}

Kind<std::vector<ObservedServingStep>> step_rows() {
  return values_as_rows<ObservedServingStep>(
      kServingStepNumbers, [](const ObservedServingStep& s) { return numbers_of(s); },
      [](const std::vector<double>& row) { return serving_step_of(row); });
}

Kind<std::vector<ObservedHandover>> handover_rows() {
  using H = ObservedHandover;
  return values_as_rows<H>(
      6,
      [](const H& h) {
        return std::vector<double>{static_cast<double>(h.request),
                                   h.ready.value(),
                                   h.begin.value(),
                                   h.end.value(),
                                   h.received.value(),
                                   h.bytes_as_said ? 1.0 : 0.0};
      },
      [](const std::vector<double>& row) {
        return H{static_cast<int>(row[0]), seconds(row[1]), seconds(row[2]),
                 seconds(row[3]),          bytes(row[4]),   row[5] != 0.0};
      });
}

const Record<HostTimeRatios>& host_time_ratios_record() {
  return described([](Record<HostTimeRatios>& r) {
    using H = HostTimeRatios;
    r.about("Times of steps around a run over those of the profile.");
    r.named("HostTimeRatios");
    r.row<&H::decode>(kAboveZero, "Of steps that only decode.");
    r.row<&H::prompt>(kAboveZero, "Of steps of prompts.");
    r.all_required();
  });
}

const Record<ServedPrefillPool>& served_prefill_record() {
  return described([](Record<ServedPrefillPool>& r) {
    using P = ServedPrefillPool;
    r.about("Replicas that computed prompts for those that decode.");
    r.named("ServedPrefillPool");
    r.row<&P::options>(replica_options_record, "Of each replica.");
    r.row<&P::replicas>(IntRange{.low = 0}, "Of the deployment.");
    r.row<&P::kv_blocks>(kind::count(), "Blocks of a replica's cache.");
    r.all_required();
  });
}

const Record<ServedTransfer>& served_transfer_record() {
  return described([](Record<ServedTransfer>& r) {
    using T = ServedTransfer;
    r.about("A transfer of one rank over all steps.");
    r.named("ServedTransfer");
    r.row<&T::counted>(transfer_record, "Calls of all steps; the payload is the mean of a call.");
    r.row<&T::said_calls>("ledger_calls", "Calls by the ledger of each step.");
    r.row<&T::said_payload>("ledger_payload_bytes", "Their payloads, in the width that was run.");
    r.row<&T::time>("measured_seconds", "All calls, waiting included.");
    r.all_required();
  });
}

Record<ServingObservation> make_serving_observation_record() {
  using O = ServingObservation;
  constexpr IntRange kFromZero{.low = 0};
  Record<O> r("What happened when a service was executed.");
  r.named("ServingObservation");
  r.row<&O::options>(replica_options_record, "Of each replica.");
  r.row<&O::replicas>(kFromZero, "Of the deployment.");
  r.row<&O::run_replicas>(kFromZero, "That ran.");
  r.row<&O::ranks>(kFromZero, "Ranks that ran them.");
  r.row<&O::precision>("run_precision", kPrecisionNames,
                       "Format of products, activations and messages.");
  r.row<&O::kv_blocks>(kind::count(), "Blocks of a replica's cache.");
  r.row<&O::kv_cache>("Cache of a rank.");
  r.row<&O::peak_memory>("The most that a rank had in use.");
  r.row<&O::device>("\"cpu\" or \"cuda\".");
  r.row<&O::not_run>("What was not run, in words.");
  r.row<&O::failure>("Why nothing ran; empty: it did.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.duration; }, "duration_seconds",
      "Until the last request ended.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.preemptions; }, "preemptions", kind::count(),
      "Requests thrown out of the cache.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.steps; }, "num_steps", kind::count(),
      "Steps of all replicas.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.busy_share; }, "busy_share", "Of the replicas' time.");
  r.row<&O::requests>(kFromZero, "Places in the load, from 0.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.requests; }, "request_rows", timing_rows(),
      "Of each: arrival, first token, end (seconds), tokens of prompt and answer.");
  r.row_at(
      [](auto& o) -> auto& { return o.run.gaps; }, "gap_rows", gap_rows(),
      "Seconds between two tokens of a request, and how often.");
  r.row<&O::steps>(
      "step_rows", step_rows(),
      "Of each step: replica, begin, seconds, decodes, their context, prompt tokens, prompts, "
      "query-key pairs, blocks in use, bytes sent by a rank of each stage, 1 if they are the "
      "ledger's.");
  r.row<&O::transfers>(served_transfer_record,
                       "What the first rank of each stage moved, by transfer.");
  r.all_required();
  r.row<&O::host_time_ratio>(
      kAboveZero,
      "The host's times around the run over those of its profile; absent: not measured.");
  r.omitted_at_default();
  r.row<&O::host_time_ratios>(host_time_ratios_record,
                              "The same of each kind of step; absent: not measured.");
  r.omitted_at_default();
  r.row<&O::prefill>(served_prefill_record,
                     "The pool that computed prompts; the replicas above only decoded.");
  r.omitted_at_default();
  r.row<&O::handovers>(
      "handover_rows", handover_rows(),
      "Of each prompt that changed pools: place in the load, computed, begun to receive, received "
      "(seconds), bytes received by a rank, 1 if they are the ledger's.");
  r.omitted_at_default();
  r.row_at(
      [](auto& o) -> auto& { return o.run.prefill_busy_share; }, "prefill_busy_share",
      "Of the time of the replicas that computed prompts.");
  r.omitted_at_default();
  return r;
}

}  // namespace

const Record<ServingObservation>& serving_observation_record() {
  static const Record<ServingObservation> record = make_serving_observation_record();
  return record;
}

}  // namespace meshwright
