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
  const auto rows = kind::number_rows(columns);
  return {.read =
              [rows, value](ObjectReader& reader, const std::string& key, std::vector<T>& values) {
                std::vector<std::vector<double>> read;
                rows.read(reader, key, read);
                values.clear();
                for (const auto& one : read) values.push_back(value(one));
              },
          .write =
              [rows, row](Json& json, const std::string& key, const std::vector<T>& values) {
                std::vector<std::vector<double>> written;
                for (const T& one : values) written.push_back(row(one));
                rows.write(json, key, written);
              },
          .schema = rows.schema};
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
  static const Record<HostTimeRatios> record = [] {
    using H = HostTimeRatios;
    Record<H> r("Times of steps around a run over those of the profile.");
    r.named("HostTimeRatios");
    r.row(&H::decode, "decode", kind::number(kAboveZero), "Of steps that only decode.");
    r.row(&H::prompt, "prompt", kind::number(kAboveZero), "Of steps of prompts.");
    return r.all_required();
  }();
  return record;
}

const Record<ServedPrefillPool>& served_prefill_record() {
  static const Record<ServedPrefillPool> record = [] {
    using P = ServedPrefillPool;
    Record<P> r("Replicas that computed prompts for those that decode.");
    r.named("ServedPrefillPool");
    r.row(&P::options, "options", kind::object(replica_options_record), "Of each replica.");
    r.row(&P::replicas, "replicas", kind::integer({.low = 0}), "Of the deployment.");
    r.row(&P::kv_blocks, "kv_blocks", kind::count(), "Blocks of a replica's cache.");
    return r.all_required();
  }();
  return record;
}

const Record<ServedTransfer>& served_transfer_record() {
  static const Record<ServedTransfer> record = [] {
    using T = ServedTransfer;
    Record<T> r("A transfer of one rank over all steps.");
    r.named("ServedTransfer");
    r.row(&T::counted, "counted", kind::object(transfer_record),
          "Calls of all steps; the payload is the mean of a call.");
    r.row(&T::said_calls, "ledger_calls", kind::number(), "Calls by the ledger of each step.");
    r.row(&T::said_payload, "ledger_payload_bytes", kind::base_amount<Bytes>(),
          "Their payloads, in the width that was run.");
    r.row(&T::time, "measured_seconds", kind::base_amount<Seconds>(),
          "All calls, waiting included.");
    return r.all_required();
  }();
  return record;
}

Record<ServingObservation> make_serving_observation_record() {
  using O = ServingObservation;
  constexpr IntRange kFromZero{.low = 0};
  Record<O> r("What happened when a service was executed.");
  r.named("ServingObservation");
  r.row(&O::options, "options", kind::object(replica_options_record), "Of each replica.");
  r.row(&O::replicas, "replicas", kind::integer(kFromZero), "Of the deployment.");
  r.row(&O::run_replicas, "run_replicas", kind::integer(kFromZero), "That ran.");
  r.row(&O::ranks, "ranks", kind::integer(kFromZero), "Ranks that ran them.");
  r.row(&O::precision, "run_precision", kind::choice(kPrecisionNames),
        "Format of products, activations and messages.");
  r.row(&O::kv_blocks, "kv_blocks", kind::count(), "Blocks of a replica's cache.");
  r.row(&O::kv_cache, "kv_cache_bytes", kind::base_amount<Bytes>(), "Cache of a rank.");
  r.row(&O::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(),
        "The most that a rank had in use.");
  r.row(&O::device, "device", kind::text(), "\"cpu\" or \"cuda\".");
  r.row(&O::not_run, "not_run", kind::texts(), "What was not run, in words.");
  r.row(&O::failure, "failure", kind::text(), "Why nothing ran; empty: it did.");
  r.row_at<Seconds>(
      [](auto& o) -> auto& { return o.run.duration; }, "duration_seconds",
      kind::base_amount<Seconds>(), "Until the last request ended.");
  r.row_at<std::int64_t>(
      [](auto& o) -> auto& { return o.run.preemptions; }, "preemptions", kind::count(),
      "Requests thrown out of the cache.");
  r.row_at<std::int64_t>(
      [](auto& o) -> auto& { return o.run.steps; }, "num_steps", kind::count(),
      "Steps of all replicas.");
  r.row_at<double>(
      [](auto& o) -> auto& { return o.run.busy_share; }, "busy_share", kind::number(),
      "Of the replicas' time.");
  r.row(&O::requests, "requests", kind::integers(kFromZero), "Places in the load, from 0.");
  r.row_at<std::vector<RequestTiming>>(
      [](auto& o) -> auto& { return o.run.requests; }, "request_rows", timing_rows(),
      "Of each: arrival, first token, end (seconds), tokens of prompt and answer.");
  r.row_at<std::vector<TokenGap>>(
      [](auto& o) -> auto& { return o.run.gaps; }, "gap_rows", gap_rows(),
      "Seconds between two tokens of a request, and how often.");
  r.row(&O::steps, "step_rows", step_rows(),
        "Of each step: replica, begin, seconds, decodes, their context, prompt tokens, prompts, "
        "query-key pairs, blocks in use, bytes sent by a rank of each stage, 1 if they are the "
        "ledger's.");
  r.row(&O::transfers, "transfers", kind::list(served_transfer_record),
        "What the first rank of each stage moved, by transfer.");
  r.all_required();
  r.row(&O::host_time_ratio, "host_time_ratio", kind::optional(kind::number(kAboveZero)),
        "The host's times around the run over those of its profile; absent: not measured.");
  r.omitted_at_default();
  r.row(&O::host_time_ratios, "host_time_ratios",
        kind::optional(kind::object(host_time_ratios_record)),
        "The same of each kind of step; absent: not measured.");
  r.omitted_at_default();
  r.row(&O::prefill, "prefill", kind::optional(kind::object(served_prefill_record)),
        "The pool that computed prompts; the replicas above only decoded.");
  r.omitted_at_default();
  r.row(
      &O::handovers, "handover_rows", handover_rows(),
      "Of each prompt that changed pools: place in the load, computed, begun to receive, received "
      "(seconds), bytes received by a rank, 1 if they are the ledger's.");
  r.omitted_at_default();
  r.row_at<double>(
      [](auto& o) -> auto& { return o.run.prefill_busy_share; }, "prefill_busy_share",
      kind::number(), "Of the time of the replicas that computed prompts.");
  r.omitted_at_default();
  return r;
}

}  // namespace

const Record<ServingObservation>& serving_observation_record() {
  static const Record<ServingObservation> record = make_serving_observation_record();
  return record;
}

}  // namespace meshwright
