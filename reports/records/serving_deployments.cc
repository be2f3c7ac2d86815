// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_deployments.h"

#include "reports/records/serving_parts.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

Kind<std::vector<Seconds>> seconds_list() {
  return kind::as<std::vector<Seconds>>(
      kind::numbers(kNotNegative),
      [](const std::vector<Seconds>& times) {
        std::vector<double> numbers;
        for (const Seconds one : times) numbers.push_back(one.value());
        return numbers;
      },
      [](const std::vector<double>& numbers) {
        std::vector<Seconds> times;
        for (const double one : numbers) times.push_back(seconds(one));
        return times;
      });
}

Kind<std::uint64_t> seed_number() {
  return kind::as<std::uint64_t>(
      kind::count(), [](std::uint64_t seed) { return static_cast<std::int64_t>(seed); },
      [](std::int64_t seed) { return static_cast<std::uint64_t>(seed); });
}

const Record<RequestLength>& request_length_record() {
  return described([](Record<RequestLength>& r) {
    r.about("Tokens of a prompt and of its answer.");
    r.row<&RequestLength::input>("input_tokens", "Of the prompt.");
    r.row<&RequestLength::output>("output_tokens", "Of the answer.");
    r.all_required();
    r.row<&RequestLength::priority>("Lower numbers first, where the engine goes by them.");
    r.omitted_at_default();
    r.row<&RequestLength::prompt>("Prompts of one number are equal as far as both go; -1: none.");
    r.omitted_at_default();
  });
}

const Record<planner::ServingPool>& serving_pool_record() {
  return described([](Record<planner::ServingPool>& r) {
    using P = planner::ServingPool;
    r.about("Replicas of one kind.");
    r.row<&P::replicas>("How many.");
    r.row<&P::options>(replica_options_record, "Each one's options.");
  });
}

const Record<planner::ServingMoney>& serving_money_record() {
  return described([](Record<planner::ServingMoney>& r) {
    using M = planner::ServingMoney;
    r.about("What tokens cost.");
    r.row<&M::per_hour>("All GPUs, an hour.");
    r.row<&M::million_input>("million_input_tokens", interval_record, "A million input tokens.");
    r.row<&M::million_output>("million_output_tokens", interval_record, "A million output tokens.");
    r.row<&M::million_total>("million_tokens", interval_record, "A million tokens, blended.");
  });
}

}  // namespace

const Record<ServingLoad>& serving_load_record() {
  return described([](Record<ServingLoad>& r) {
    using L = ServingLoad;
    r.about("How requests arrive, and how long they are.");
    r.row<&L::kind>(kLoadKindNames, "How requests arrive.");
    r.row<&L::concurrency>("Closed loop: users.");
    r.row<&L::request_rate>("Open loop: requests a second.");
    r.row<&L::burstiness>("Open loop: shape of the gaps.");
    r.row_at(
        [](auto& l) -> auto& { return l.lengths.kind; }, "lengths", kLengthKindNames,
        "fixed, uniform or list.");
    r.derived<double>("mean_input_tokens", kind::number(), "Tokens of a prompt.",
                      [](const L& l) { return mean_input(l.lengths); });
    r.derived<double>("mean_output_tokens", kind::number(), "Tokens of an answer.",
                      [](const L& l) { return mean_output(l.lengths); });
    r.row_at(
        [](auto& l) -> auto& { return l.lengths.input; }, "input_tokens",
        "Of fixed prompts, and of the longest of uniform ones.");
    r.row_at(
        [](auto& l) -> auto& { return l.lengths.output; }, "output_tokens",
        "Of fixed answers, and of the longest of uniform ones.");
    r.row_at(
        [](auto& l) -> auto& { return l.lengths.least_share; }, "least_share", kind::fraction(true),
        "Uniform: the shortest over the longest.");
    r.row_at(
        [](auto& l) -> auto& { return l.lengths.list; }, "length_list", request_length_record,
        "Of a list: tokens of prompts and answers, in turn.");
    r.omitted_at_default();
    r.row<&L::arrivals>("arrival_seconds", seconds_list(), "Times of arrivals.");
    r.omitted_at_default();
    r.row<&L::num_requests>(IntRange{.low = 0},
                            "Of a simulation; 0: ten of each user, 1,000 at least else.");
    r.row<&L::seed>(seed_number(), "Of lengths and gaps.");
    r.row<&L::acceptance>("Share of drafts that are accepted.");
    r.row<&L::prefix_hit_rate>("Share of a prompt in the cache.");
  });
}

const Record<SteadyState>& steady_state_record() {
  return described([](Record<SteadyState>& r) {
    using S = SteadyState;
    r.about("Means of a steady load, in closed form.");
    r.row<&S::ttft>("Time to first token.");
    r.row<&S::tpot>("Time per output token.");
    r.row<&S::e2e>("Whole request.");
    r.row<&S::decode_step>("Step without prompts.");
    r.row<&S::requests_per_second>("Throughput.");
    r.row<&S::running>("Sequences that decode in a group.");
    r.row<&S::room>("Requests that a group admits.");
    r.row<&S::prompt_share>("Of the step's time, prompts.");
    r.row<&S::waiting>("For room, part of the first token.");
  });
}

const Record<ServingMetrics>& serving_metrics_record() {
  return described([](Record<ServingMetrics>& r) {
    using M = ServingMetrics;
    r.about("What the requests of a run saw.");
    r.row<&M::ttft>(percentiles_record, "Time to first token.");
    r.row<&M::tpot>(percentiles_record, "(E2E - TTFT) / (output - 1), over requests.");
    r.row<&M::inclusive_tpot>(percentiles_record, "E2E / output, over requests.");
    r.row<&M::itl>(percentiles_record, "Gaps between tokens, over all gaps.");
    r.row<&M::e2e>(percentiles_record, "Whole request.");
    r.row<&M::requests>("Requests.");
    r.row<&M::requests_per_second>("Throughput; of a prediction in its steady part.");
    r.row<&M::output_tokens_per_second>("Answers.");
    r.row<&M::total_tokens_per_second>("Prompts and answers.");
  });
}

const Record<planner::Deployment>& deployment_record() {
  return described([](Record<planner::Deployment>& r) {
    using D = planner::Deployment;
    r.about("Replicas, or a prefill and a decode pool.");
    r.derived<std::string>("name", kind::text(), "In short.",
                           [](const D& d) { return planner::short_name(d); });
    r.derived<std::string>("mode", kind::text(), "aggregated or disaggregated.",
                           [](const D& d) { return std::string(planner::name_of(d.mode())); });
    r.derived<int>("gpus", kind::integer(), "Of all.",
                   [](const D& d) { return planner::num_gpus(d); });
    r.row<&D::prefill>(serving_pool_record, "The prefill pool.");
    r.row<&D::pool>(serving_pool_record, "The replicas, or the decode pool.");
  });
}

const Record<planner::ServingChoice>& serving_choice_record() {
  static const Record<planner::ServingChoice> record = [] {
    using C = planner::ServingChoice;
    const auto time = kind::base_amount<Seconds>();
    Record<C> r("A deployment under the load.");
    r.row<&C::deployment>(deployment_record, "What runs.");
    r.row<&C::gpus>("GPUs.");
    r.row<&C::gpus_low>(IntRange{.low = 0}, "GPUs if steps are fast; 0: not known.");
    r.row<&C::gpus_high>(IntRange{.low = 0}, "GPUs if steps are slow; 0: not known.");
    r.row<&C::meets>("meets_limits", "Whether the limits are met.");
    r.row_at(
        [](auto& c) -> auto& { return c.state.state; }, "steady", steady_state_record,
        "Means under the load, in closed form.");
    r.row<&C::largest_rate>("Requests a second within the limits.");
    r.row<&C::tokens_per_second_per_gpu>("output_tokens_per_second_per_gpu", "Throughput.");
    r.row<&C::tokens_per_second_per_user>("1 / mean TPOT.");
    r.row<&C::token_spread>("Relative, of TPOT.");
    r.row<&C::first_token_spread>("Relative, of TTFT.");
    r.row_at(
        [](auto& c) -> auto& { return c.state.prefill_idle; }, "prefill_idle_share",
        "Disaggregated: of the prefill pool's time.");
    r.row_at(
        [](auto& c) -> auto& { return c.state.decode_idle; }, "decode_idle_share",
        "Disaggregated: of the decode pool's time.");
    r.row_at(
        [](auto& c) -> auto& { return c.state.transfer; }, "transfer_seconds",
        "Disaggregated: of a prompt's cache.");
    r.row<&C::simulated>(serving_metrics_record, "Percentiles, where it was simulated.");
    r.row<&C::simulated_ttft>("ttft_at_percentile_seconds", time, "At the asked percentile.");
    r.row<&C::simulated_tpot>("tpot_at_percentile_seconds", time, "At the asked percentile.");
    r.row<&C::money>(serving_money_record, "What tokens cost.");
    r.row<&C::total_kwh_million_output>(
        "total_kwh_million_output_tokens", interval_record,
        "Energy of prompts and answers over a million output tokens.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
