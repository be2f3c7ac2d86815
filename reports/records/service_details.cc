// SPDX-License-Identifier: Apache-2.0
#include "reports/records/service_details.h"

#include "reports/records/serving_parts.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

constexpr auto kTime = [] { return kind::base_amount<Seconds>(); };
constexpr auto kShare = [] { return kind::fraction(true); };

const Record<planner::LatencyRange>& latency_range_record() {
  static const Record<planner::LatencyRange> record = [] {
    using R = planner::LatencyRange;
    Record<R> r("A time and its 90 % interval.");
    r.row(&R::value, "value_seconds", kTime(), "The time.");
    r.row(&R::low, "low_seconds", kTime(), "Low end.");
    r.row(&R::high, "high_seconds", kTime(), "High end.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::ServingLoadPoint>& load_point_record() {
  static const Record<planner::ServingLoadPoint> record = [] {
    using P = planner::ServingLoadPoint;
    const auto times = kind::object(percentiles_record);
    Record<P> r("The deployment under one load, simulated.");
    r.row(&P::request_rate, "requests_per_second", kind::number(),
          "Open loop: offered. Closed loop: served.");
    r.row(&P::users, "users", kind::number(), "Closed loop: users; 0: open loop.");
    r.row(&P::asked, "asked", kind::flag(), "The load of the question.");
    r.row(&P::ttft, "ttft", times, "Time to first token.");
    r.row(&P::tpot, "tpot", times, "Time per output token.");
    r.row(&P::e2e, "e2e", times, "Whole request.");
    r.row(&P::ttft_at, "ttft_at_percentile_seconds", kind::optional(kTime()),
          "At the asked percentile.");
    r.row(&P::tpot_at, "tpot_at_percentile_seconds", kind::optional(kTime()),
          "At the asked percentile.");
    r.row(&P::output_tokens_per_second, "output_tokens_per_second", kind::number(), "Throughput.");
    r.row(&P::busy_share, "busy_share", kShare(),
          "Of the replicas' time; of pools: of the decode pool's.");
    r.row(&P::meets, "meets_limits", kind::flag(), "Whether the limits are met.");
    return r;
  }();
  return record;
}

const Record<planner::ServingStepPart>& step_part_record() {
  static const Record<planner::ServingStepPart> record = [] {
    using P = planner::ServingStepPart;
    Record<P> r("A part of a step.");
    r.row(&P::term, "term", kind::choice(kStepTermNames), "Which.");
    r.row(&P::time, "time_seconds", kTime(), "How long it takes.");
    r.row(&P::relative_spread, "relative_spread", kind::number(), "One standard deviation.");
    r.row(&P::provenance, "provenance", kind::choice(kProvenanceNames),
          "Where its rate comes from.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::ServingStepParts>& step_parts_record() {
  static const Record<planner::ServingStepParts> record = [] {
    using P = planner::ServingStepParts;
    Record<P> r("One kind of step, in parts.");
    r.row(&P::step, "step", kind::choice(planner::kServedStepNames),
          "Of prompts alone, or of the sequences that decode.");
    r.row(&P::sequences, "sequences", kind::number(), "Of one attention group.");
    r.row(&P::tokens, "tokens", kind::number(),
          "Prefill: new tokens. Decode: context of each sequence.");
    r.row(&P::time, "time", kind::object(latency_range_record), "From start to tokens.");
    r.row(&P::provenance, "provenance", kind::choice(kProvenanceNames), "The weakest part's.");
    r.row(&P::parts, "parts", kind::list(step_part_record), "Parts that take time.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::ServicePoolDetails>& pool_details_record() {
  static const Record<planner::ServicePoolDetails> record = [] {
    using P = planner::ServicePoolDetails;
    Record<P> r("Replicas of one kind under the load.");
    r.row(&P::pool, "pool", kind::choice(planner::kServicePoolNames), "What they do.");
    r.row(&P::name, "name", kind::text(), "Replicas and layout.");
    r.row(&P::replicas, "replicas", kind::integer(), "How many.");
    r.row(&P::gpus, "gpus", kind::integer(), "Of all.");
    r.row(&P::memory, "memory", kind::object(replica_memory_record),
          "Of the GPU with the highest use.");
    r.row(&P::admitted, "admitted_requests", kind::number(),
          "Of one attention group that the cache and the engine admit.");
    r.row(&P::running, "running_sequences", kind::number(),
          "Of one attention group that decode under the load.");
    r.row(&P::prompt_share, "prompt_share", kShare(), "Of the pool's time, prompts.");
    r.row(&P::decode_share, "decode_share", kShare(), "Of the pool's time, answers.");
    r.row(&P::idle_share, "idle_share", kShare(), "Of the pool's time, nothing.");
    r.row(&P::steps, "steps", kind::list(step_parts_record), "Its steps.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::ServingEnergy>& energy_record() {
  static const Record<planner::ServingEnergy> record = [] {
    using E = planner::ServingEnergy;
    const auto interval = kind::object(interval_record);
    Record<E> r("Power and energy, split between prompts and answers by their time.");
    r.row(&E::kilowatts, "kilowatts", interval, "All GPUs with node and PUE, under the load.");
    r.row(&E::million_input, "kwh_million_input_tokens", interval, "A million input tokens.");
    r.row(&E::million_output, "kwh_million_output_tokens", interval,
          "A million output tokens, without the prompts' share.");
    r.row(&E::million_total, "kwh_million_tokens", interval, "A million tokens, blended.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::SmallerDeployment>& smaller_record() {
  static const Record<planner::SmallerDeployment> record = [] {
    using S = planner::SmallerDeployment;
    Record<S> r("The deployment with one replica fewer, under the same load.");
    r.row(&S::deployment, "deployment", kind::text(), "What runs.");
    r.row(&S::gpus, "gpus", kind::integer(), "GPUs.");
    r.row(&S::largest_rate, "largest_rate", kind::number(),
          "Requests a second that it serves at most, limits aside.");
    r.row(&S::utilization, "utilization", kind::number(), "The load over that rate.");
    r.row(&S::ttft, "ttft_seconds", kind::optional(kTime()),
          "As the limits are; absent: the queue grows without end.");
    r.row(&S::tpot, "tpot_seconds", kind::optional(kTime()), "As the limits are.");
    r.row(&S::e2e, "e2e_seconds", kind::optional(kTime()),
          "Mean of a whole request, in closed form.");
    return r;
  }();
  return record;
}

}  // namespace

const Record<planner::ServiceDetails>& service_details_record() {
  static const Record<planner::ServiceDetails> record = [] {
    using D = planner::ServiceDetails;
    Record<D> r("The first choice in detail.");
    r.row(&D::asked_gpus, "asked_gpus", kind::optional_integer(), "The question fixes the GPUs.");
    r.row(&D::ttft, "ttft", kind::object(latency_range_record),
          "Time to first token as the limits are: at the percentile, or the mean.");
    r.row(&D::tpot, "tpot", kind::object(latency_range_record), "Time per output token, likewise.");
    r.row(&D::largest_rate, "largest_rate", kind::number(),
          "Requests a second that it serves at most, limits aside.");
    r.row(&D::most_utilization, "most_utilization", kShare(),
          "Of that rate, up to which a service is planned.");
    r.row(&D::loads, "loads", kind::list(load_point_record), "The smallest first.");
    r.row(&D::ttft_knee, "ttft_knee", kind::optional_number(),
          "Load at which TTFT is twice that at the smallest load; absent: above all loads.");
    r.row(&D::tpot_knee, "tpot_knee", kind::optional_number(), "The same of TPOT.");
    r.row(&D::pools, "pools", kind::list(pool_details_record), "Prefill first.");
    r.row(&D::energy, "energy", kind::optional(kind::object(energy_record)),
          "Absent: the power of the GPUs is not known.");
    r.row(&D::smaller, "smaller", kind::optional(kind::object(smaller_record)),
          "Absent: each pool has one replica.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
