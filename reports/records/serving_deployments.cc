// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_deployments.h"

#include "reports/records/serving_parts.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

Kind<std::vector<Seconds>> seconds_list() {
  const auto numbers = kind::numbers(kNotNegative);
  return {.read =
              [numbers](ObjectReader& reader, const std::string& key, std::vector<Seconds>& value) {
                std::vector<double> read;
                numbers.read(reader, key, read);
                value.clear();
                for (const double one : read) value.push_back(seconds(one));
              },
          .write =
              [numbers](Json& json, const std::string& key, const std::vector<Seconds>& value) {
                std::vector<double> written;
                for (const Seconds one : value) written.push_back(one.value());
                numbers.write(json, key, written);
              },
          .schema = numbers.schema};
}

Kind<std::uint64_t> seed_number() {
  const auto count = kind::count();
  return {.read =
              [count](ObjectReader& reader, const std::string& key, std::uint64_t& value) {
                std::int64_t read = 0;
                count.read(reader, key, read);
                value = static_cast<std::uint64_t>(read);
              },
          .write = [](Json& json, const std::string& key,
                      const std::uint64_t& value) { json[key] = value; },
          .schema = count.schema};
}

const Record<RequestLength>& request_length_record() {
  static const Record<RequestLength> record = [] {
    Record<RequestLength> r("Tokens of a prompt and of its answer.");
    r.row(&RequestLength::input, "input_tokens", kind::integer(), "Of the prompt.");
    r.row(&RequestLength::output, "output_tokens", kind::integer(), "Of the answer.");
    return r.all_required();
  }();
  return record;
}

const Record<planner::ServingPool>& serving_pool_record() {
  static const Record<planner::ServingPool> record = [] {
    using P = planner::ServingPool;
    Record<P> r("Replicas of one kind.");
    r.row(&P::replicas, "replicas", kind::integer(), "How many.");
    r.row(&P::options, "options", kind::object(replica_options_record), "Each one's options.");
    return r;
  }();
  return record;
}

const Record<planner::ServingMoney>& serving_money_record() {
  static const Record<planner::ServingMoney> record = [] {
    using M = planner::ServingMoney;
    Record<M> r("What tokens cost.");
    r.row(&M::per_hour, "per_hour", kind::number(), "All GPUs, an hour.");
    r.row(&M::million_input, "million_input_tokens", kind::object(interval_record),
          "A million input tokens.");
    r.row(&M::million_output, "million_output_tokens", kind::object(interval_record),
          "A million output tokens.");
    r.row(&M::million_total, "million_tokens", kind::object(interval_record),
          "A million tokens, blended.");
    return r;
  }();
  return record;
}

}  // namespace

const Record<ServingLoad>& serving_load_record() {
  static const Record<ServingLoad> record = [] {
    using L = ServingLoad;
    Record<L> r("How requests arrive, and how long they are.");
    r.row(&L::kind, "kind", kind::choice(kLoadKindNames), "How requests arrive.");
    r.row(&L::concurrency, "concurrency", kind::number(), "Closed loop: users.");
    r.row(&L::request_rate, "request_rate", kind::number(), "Open loop: requests a second.");
    r.row(&L::burstiness, "burstiness", kind::number(), "Open loop: shape of the gaps.");
    r.row_at<LengthKind>(
        [](auto& l) -> auto& { return l.lengths.kind; }, "lengths", kind::choice(kLengthKindNames),
        "fixed, uniform or list.");
    r.derived<double>("mean_input_tokens", kind::number(), "Tokens of a prompt.",
                      [](const L& l) { return mean_input(l.lengths); });
    r.derived<double>("mean_output_tokens", kind::number(), "Tokens of an answer.",
                      [](const L& l) { return mean_output(l.lengths); });
    r.row_at<int>(
        [](auto& l) -> auto& { return l.lengths.input; }, "input_tokens", kind::integer(),
        "Of fixed prompts, and of the longest of uniform ones.");
    r.row_at<int>(
        [](auto& l) -> auto& { return l.lengths.output; }, "output_tokens", kind::integer(),
        "Of fixed answers, and of the longest of uniform ones.");
    r.row_at<double>(
        [](auto& l) -> auto& { return l.lengths.least_share; }, "least_share", kind::fraction(true),
        "Uniform: the shortest over the longest.");
    r.row_at<std::vector<RequestLength>>(
        [](auto& l) -> auto& { return l.lengths.list; }, "length_list",
        kind::list(request_length_record), "Of a list: tokens of prompts and answers, in turn.");
    r.omitted_at_default();
    r.row(&L::arrivals, "arrival_seconds", seconds_list(), "Times of arrivals.");
    r.omitted_at_default();
    r.row(&L::num_requests, "num_requests", kind::integer({.low = 0}),
          "Of a simulation; 0: ten of each user, 1,000 at least else.");
    r.row(&L::seed, "seed", seed_number(), "Of lengths and gaps.");
    r.row(&L::acceptance, "acceptance", kind::number(), "Share of drafts that are accepted.");
    r.row(&L::prefix_hit_rate, "prefix_hit_rate", kind::number(),
          "Share of a prompt in the cache.");
    return r;
  }();
  return record;
}

const Record<SteadyState>& steady_state_record() {
  static const Record<SteadyState> record = [] {
    using S = SteadyState;
    const auto time = kind::base_amount<Seconds>();
    Record<S> r("Means of a steady load, in closed form.");
    r.row(&S::ttft, "ttft_seconds", time, "Time to first token.");
    r.row(&S::tpot, "tpot_seconds", time, "Time per output token.");
    r.row(&S::e2e, "e2e_seconds", time, "Whole request.");
    r.row(&S::decode_step, "decode_step_seconds", time, "Step without prompts.");
    r.row(&S::requests_per_second, "requests_per_second", kind::number(), "Throughput.");
    r.row(&S::running, "running", kind::number(), "Sequences that decode in a group.");
    r.row(&S::room, "room", kind::number(), "Requests that a group admits.");
    r.row(&S::prompt_share, "prompt_share", kind::number(), "Of the step's time, prompts.");
    r.row(&S::waiting, "waiting_seconds", time, "For room, part of the first token.");
    return r;
  }();
  return record;
}

const Record<ServingMetrics>& serving_metrics_record() {
  static const Record<ServingMetrics> record = [] {
    using M = ServingMetrics;
    const auto times = kind::object(percentiles_record);
    Record<M> r("What the requests of a run saw.");
    r.row(&M::ttft, "ttft", times, "Time to first token.");
    r.row(&M::tpot, "tpot", times, "(E2E - TTFT) / (output - 1), over requests.");
    r.row(&M::inclusive_tpot, "inclusive_tpot", times, "E2E / output, over requests.");
    r.row(&M::itl, "itl", times, "Gaps between tokens, over all gaps.");
    r.row(&M::e2e, "e2e", times, "Whole request.");
    r.row(&M::requests, "requests", kind::integer(), "Requests.");
    r.row(&M::requests_per_second, "requests_per_second", kind::number(), "Throughput.");
    r.row(&M::output_tokens_per_second, "output_tokens_per_second", kind::number(), "Answers.");
    r.row(&M::total_tokens_per_second, "total_tokens_per_second", kind::number(),
          "Prompts and answers.");
    return r;
  }();
  return record;
}

const Record<planner::Deployment>& deployment_record() {
  static const Record<planner::Deployment> record = [] {
    using D = planner::Deployment;
    Record<D> r("Replicas, or a prefill and a decode pool.");
    r.derived<std::string>("name", kind::text(), "In short.",
                           [](const D& d) { return planner::short_name(d); });
    r.derived<std::string>("mode", kind::text(), "aggregated or disaggregated.",
                           [](const D& d) { return std::string(planner::name_of(d.mode())); });
    r.derived<int>("gpus", kind::integer(), "Of all.",
                   [](const D& d) { return planner::num_gpus(d); });
    r.row(&D::prefill, "prefill", kind::optional(kind::object(serving_pool_record)),
          "The prefill pool.");
    r.row(&D::pool, "pool", kind::object(serving_pool_record), "The replicas, or the decode pool.");
    return r;
  }();
  return record;
}

const Record<planner::ServingChoice>& serving_choice_record() {
  static const Record<planner::ServingChoice> record = [] {
    using C = planner::ServingChoice;
    const auto time = kind::base_amount<Seconds>();
    Record<C> r("A deployment under the load.");
    r.row(&C::deployment, "deployment", kind::object(deployment_record), "What runs.");
    r.row(&C::gpus, "gpus", kind::integer(), "GPUs.");
    r.row(&C::gpus_low, "gpus_low", kind::integer({.low = 0}),
          "GPUs if steps are fast; 0: not known.");
    r.row(&C::gpus_high, "gpus_high", kind::integer({.low = 0}),
          "GPUs if steps are slow; 0: not known.");
    r.row(&C::meets, "meets_limits", kind::flag(), "Whether the limits are met.");
    r.row_at<SteadyState>(
        [](auto& c) -> auto& { return c.state.state; }, "steady", kind::object(steady_state_record),
        "Means under the load.");
    r.row(&C::largest_rate, "largest_rate", kind::number(), "Requests a second within the limits.");
    r.row(&C::tokens_per_second_per_gpu, "output_tokens_per_second_per_gpu", kind::number(),
          "Throughput.");
    r.row(&C::tokens_per_second_per_user, "tokens_per_second_per_user", kind::number(),
          "1 / mean TPOT.");
    r.row(&C::token_spread, "token_spread", kind::number(), "Relative, of TPOT.");
    r.row(&C::first_token_spread, "first_token_spread", kind::number(), "Relative, of TTFT.");
    r.row_at<double>(
        [](auto& c) -> auto& { return c.state.prefill_idle; }, "prefill_idle_share", kind::number(),
        "Disaggregated: of the prefill pool's time.");
    r.row_at<double>(
        [](auto& c) -> auto& { return c.state.decode_idle; }, "decode_idle_share", kind::number(),
        "Disaggregated: of the decode pool's time.");
    r.row_at<Seconds>(
        [](auto& c) -> auto& { return c.state.transfer; }, "transfer_seconds", time,
        "Disaggregated: of a prompt's cache.");
    r.row(&C::simulated, "simulated", kind::optional(kind::object(serving_metrics_record)),
          "Percentiles, where it was simulated.");
    r.row(&C::simulated_ttft, "ttft_at_percentile_seconds", kind::optional(time),
          "At the asked percentile.");
    r.row(&C::simulated_tpot, "tpot_at_percentile_seconds", kind::optional(time),
          "At the asked percentile.");
    r.row(&C::money, "money", kind::optional(kind::object(serving_money_record)),
          "What tokens cost.");
    r.row(&C::total_kwh_million_output, "total_kwh_million_output_tokens",
          kind::optional(kind::object(interval_record)),
          "Energy of prompts and answers over a million output tokens.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
