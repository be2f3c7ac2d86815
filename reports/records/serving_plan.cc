// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_plan.h"

#include <fmt/format.h>

#include "reports/records/parts.h"
#include "reports/records/service_details.h"
#include "reports/records/serving_parts.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

using planner::Deployment;

const auto kPlainSeconds = [] { return kind::base_amount<Seconds>(); };

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

const Record<LatencyLimits>& latency_limits_record() {
  static const Record<LatencyLimits> record = [] {
    using L = LatencyLimits;
    Record<L> r("Limits of the service.");
    r.row(&L::ttft, "ttft_seconds", kind::optional(kPlainSeconds()), "Time to first token.");
    r.row(&L::tpot, "tpot_seconds", kind::optional(kPlainSeconds()), "Time per output token.");
    r.row(&L::e2e, "e2e_seconds", kind::optional(kPlainSeconds()), "Whole request.");
    return r;
  }();
  return record;
}

const Record<SteadyState>& steady_state_record() {
  static const Record<SteadyState> record = [] {
    using S = SteadyState;
    Record<S> r("Means of a steady load, in closed form.");
    r.row(&S::ttft, "ttft_seconds", kPlainSeconds(), "Time to first token.");
    r.row(&S::tpot, "tpot_seconds", kPlainSeconds(), "Time per output token.");
    r.row(&S::e2e, "e2e_seconds", kPlainSeconds(), "Whole request.");
    r.row(&S::decode_step, "decode_step_seconds", kPlainSeconds(), "Step without prompts.");
    r.row(&S::requests_per_second, "requests_per_second", kind::number(), "Throughput.");
    r.row(&S::running, "running", kind::number(), "Sequences that decode in a group.");
    r.row(&S::room, "room", kind::number(), "Requests that a group admits.");
    r.row(&S::prompt_share, "prompt_share", kind::number(), "Of the step's time, prompts.");
    r.row(&S::waiting, "waiting_seconds", kPlainSeconds(), "For room, part of the first token.");
    return r;
  }();
  return record;
}

}  // namespace

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

namespace {

// What a trial needs to run the choices. Each has its own options.
const Record<ServingScenario>& serving_scenario_record() {
  static const Record<ServingScenario> record = [] {
    using S = ServingScenario;
    struct ClusterOf {
      Cluster& operator()(S& s) const { return s.cluster; }
      const Cluster& operator()(const S& s) const { return s.cluster; }
    };
    Record<S> r("Model, cluster and engine, whole.");
    r.row(&S::model, "model", kind::object(model_record), "The model.").required();
    r.row_at<Cluster>(ClusterOf{}, "cluster", kind::object(cluster_record), "The cluster.");
    r.required();
    r.row_at<InferenceRates>(
        [](auto& s) -> auto& { return s.cluster.inference; }, "inference",
        kind::object(inference_rates_record), "Rates of its device's inference kernels.");
    r.row(&S::engine, "engine", kind::object(engine_record), "The engine.").required();
    return r;
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

const Record<Deployment>& deployment_record() {
  static const Record<Deployment> record = [] {
    using D = Deployment;
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

const Record<planner::ServingChoice>& serving_choice_record() {
  static const Record<planner::ServingChoice> record = [] {
    using C = planner::ServingChoice;
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
          "1 / TPOT.");
    r.row(&C::token_spread, "token_spread", kind::number(), "Relative, of TPOT.");
    r.row(&C::first_token_spread, "first_token_spread", kind::number(), "Relative, of TTFT.");
    r.row_at<double>(
        [](auto& c) -> auto& { return c.state.prefill_idle; }, "prefill_idle_share", kind::number(),
        "Disaggregated: of the prefill pool's time.");
    r.row_at<double>(
        [](auto& c) -> auto& { return c.state.decode_idle; }, "decode_idle_share", kind::number(),
        "Disaggregated: of the decode pool's time.");
    r.row_at<Seconds>(
        [](auto& c) -> auto& { return c.state.transfer; }, "transfer_seconds", kPlainSeconds(),
        "Disaggregated: of a prompt's cache.");
    r.row(&C::simulated, "simulated", kind::optional(kind::object(serving_metrics_record)),
          "Percentiles, where it was simulated.");
    r.row(&C::simulated_ttft, "ttft_at_percentile_seconds", kind::optional(kPlainSeconds()),
          "At the asked percentile.");
    r.row(&C::simulated_tpot, "tpot_at_percentile_seconds", kind::optional(kPlainSeconds()),
          "At the asked percentile.");
    r.row(&C::money, "money", kind::optional(kind::object(serving_money_record)),
          "What tokens cost.");
    r.row(&C::kwh_million_output, "kwh_million_output_tokens",
          kind::optional(kind::object(interval_record)), "Energy of a million output tokens.");
    return r;
  }();
  return record;
}

const Record<planner::ServingParetoPoint>& serving_pareto_record() {
  static const Record<planner::ServingParetoPoint> record = [] {
    using P = planner::ServingParetoPoint;
    Record<P> r("One layout at one number of users.");
    r.row(&P::name, "deployment", kind::text(), "What runs.");
    r.row(&P::users, "users", kind::number(), "Requests at a time.");
    r.row(&P::ttft, "ttft_seconds", kPlainSeconds(), "Time to first token.");
    r.row(&P::tpot, "tpot_seconds", kPlainSeconds(), "Time per output token.");
    r.row(&P::tokens_per_second_per_gpu, "output_tokens_per_second_per_gpu", kind::number(),
          "Throughput.");
    r.row(&P::tokens_per_second_per_user, "tokens_per_second_per_user", kind::number(),
          "1 / TPOT.");
    return r;
  }();
  return record;
}

const Record<planner::ServingRejection>& serving_rejection_record() {
  static const Record<planner::ServingRejection> record = [] {
    using R = planner::ServingRejection;
    Record<R> r("Layouts that one rule turned down.");
    r.row(&R::rule, "rule", kind::text(), "Of the engine, or a limit.");
    r.row(&R::count, "count", kind::integer(), "Layouts.");
    r.row(&R::nearest, "nearest", kind::text(), "The one that missed least.");
    r.row(&R::sentence, "sentence", kind::text(), "By how much.");
    r.row(&R::remedy, "remedy", kind::text(), "What to change.");
    return r;
  }();
  return record;
}

const Record<planner::NearestDeployment>& nearest_deployment_record() {
  static const Record<planner::NearestDeployment> record = [] {
    using N = planner::NearestDeployment;
    Record<N> r("The deployment that misses the limits least, at one request at a time.");
    r.row(&N::name, "deployment", kind::text(), "What runs.");
    r.row(&N::ttft, "ttft_seconds", kPlainSeconds(), "Time to first token.");
    r.row(&N::tpot, "tpot_seconds", kPlainSeconds(), "Time per output token.");
    r.row(&N::ratio, "ratio", kind::number(), "The larger of time / limit.");
    return r;
  }();
  return record;
}

const Record<planner::ServingWhatIf>& serving_what_if_record() {
  static const Record<planner::ServingWhatIf> record = [] {
    using W = planner::ServingWhatIf;
    Record<W> r("The question with one thing changed.");
    r.row(&W::name, "change", kind::text(), "What is changed.");
    r.row(&W::gpus, "gpus", kind::integer({.low = 0}), "GPUs; 0: no deployment meets the limits.");
    r.row(&W::deployment, "deployment", kind::text(), "What runs.");
    r.row(&W::ttft, "ttft_seconds", kind::optional(kPlainSeconds()), "Mean time to first token.");
    r.row(&W::tpot, "tpot_seconds", kind::optional(kPlainSeconds()), "Mean time per output token.");
    r.row(&W::million_output, "million_output_tokens", kind::optional_number(),
          "Price of a million output tokens.");
    return r;
  }();
  return record;
}

const Record<planner::ServingTermDifference>& serving_term_difference_record() {
  static const Record<planner::ServingTermDifference> record = [] {
    using D = planner::ServingTermDifference;
    Record<D> r("One term of the decode step of the first two choices, each at its own batch.");
    r.row(&D::term, "term", kind::choice(kStepTermNames), "Which.");
    r.row(&D::first, "first_seconds", kPlainSeconds(), "Of the first.");
    r.row(&D::second, "second_seconds", kPlainSeconds(), "Of the second.");
    return r;
  }();
  return record;
}

const Record<planner::ServingEvidence>& serving_evidence_record() {
  static const Record<planner::ServingEvidence> record = [] {
    using E = planner::ServingEvidence;
    Record<E> r(
        "A configuration that was measured. Times in seconds, throughput in tokens per "
        "second.");
    r.row(&E::id, "id", kind::text(), "Of its first result.");
    r.row(&E::results, "results", kind::integer(), "That repeat it.");
    r.row(&E::quantity, "quantity", kind::choice(planner::kServingQuantityNames),
          "What was compared.");
    r.row(&E::measured, "measured", kind::number(), "Geometric mean of its results.");
    r.row(&E::predicted, "predicted", kind::number(), "Before.");
    r.row(&E::corrected, "corrected", kind::number(), "With the factor.");
    return r;
  }();
  return record;
}

const Record<planner::UnreadService>& left_out_result_record() {
  static const Record<planner::UnreadService> record = [] {
    using U = planner::UnreadService;
    Record<U> r("A result that nothing was learnt from.");
    r.row(&U::id, "id", kind::text(), "Its name.");
    r.row(&U::line, "line", kind::integer({.low = 0}), "Its line; 0: not known.");
    r.row(&U::reason, "reason", kind::text(), "Why.");
    return r;
  }();
  return record;
}

const Record<planner::ServingLearning>& serving_learning_record() {
  static const Record<planner::ServingLearning> record = [] {
    using L = planner::ServingLearning;
    Record<L> r("What results of this engine on this machine taught.");
    r.row(&L::factor, "factor", kind::number(), "Of every step's time, over the prediction.");
    r.row(&L::factor_low, "factor_low", kind::number(), "Low end of its 90 % interval.");
    r.row(&L::factor_high, "factor_high", kind::number(), "High end.");
    r.row(&L::spread_before, "spread_before", kind::number(),
          "Of a step's time without the results, one relative standard deviation.");
    r.row(&L::spread, "spread", kind::number(), "The same with them.");
    r.row(&L::repeat_spread, "repeat_spread", kind::number(),
          "Of results of one configuration; the spread is never below it.");
    r.row(&L::configurations, "configurations", kind::integer(), "That were measured.");
    r.row(&L::results, "results", kind::integer(), "Of them, repeats counted.");
    r.row(&L::evidence, "evidence", kind::list(serving_evidence_record), "Each configuration.");
    r.row(&L::left_out, "left_out", kind::list(left_out_result_record), "Results, and why.");
    return r;
  }();
  return record;
}

const Record<ServicePrices>& service_prices_record() {
  static const Record<ServicePrices> record = [] {
    using P = ServicePrices;
    Record<P> r("Whose prices the money is made of.");
    r.row(&P::name, "name", kind::text(), "The price list.");
    r.row(&P::date, "date", kind::text(), "Its date.");
    r.row(&P::example, "example", kind::flag(), "Prices are an example, no offer.");
    return r;
  }();
  return record;
}

// What every answer about a service says first.
template <typename File>
void add_heading(Record<File>& r) {
  r.row(&File::command, "command", kind::text(), "Makes the answer again.");
  r.row(&File::notes, "notes", kind::texts(), "What a reader must know of it.");
  r.row(&File::model, "model", kind::text(), "The model.");
  r.row(&File::cluster, "cluster", kind::text(), "The cluster.");
  r.row(&File::device, "device", kind::text(), "Its GPU.");
  r.row(&File::engine, "engine", kind::text(), "The engine.");
  r.row(&File::load, "load", kind::object(serving_load_record), "What is asked of it.");
}

}  // namespace

const Record<ServingPlanFile>& serving_plan_record() {
  static const Record<ServingPlanFile> record = [] {
    using F = ServingPlanFile;
    Record<F> r("Deployments of a service, best first.");
    r.file_of({std::string(kServingPlanSchema)}, true);
    add_heading(r);
    r.row(&F::verdict, "verdict", kind::text(), "The answer in one sentence.").omitted_at_default();
    r.row(&F::why_not_fewer, "why_not_fewer", kind::text(), "What one replica fewer would do.");
    r.omitted_at_default();
    r.row(&F::how_sure, "how_sure", kind::text(), "The interval, and what it depends on.");
    r.omitted_at_default();
    r.row(&F::scenario, "scenario", kind::object(serving_scenario_record),
          "Model, cluster and engine, for a trial.");
    r.required();
    r.row(&F::limits, "limits", kind::object(latency_limits_record), "Limits of the service.");
    r.row(&F::percentile, "percentile", kind::number(), "Of the limits; 0: means.");
    r.row(&F::currency, "currency", kind::text(), "Of money.");
    r.row(&F::prices, "prices", kind::optional(kind::object(service_prices_record)),
          "Where the money comes from.");
    r.row_at<std::vector<planner::ServingChoice>>(
        [](auto& f) -> auto& { return f.plan.choices; }, "choices",
        kind::list(serving_choice_record), "Best first.");
    r.required();
    r.row_at<std::vector<planner::ServingParetoPoint>>(
        [](auto& f) -> auto& { return f.plan.front; }, "pareto", kind::list(serving_pareto_record),
        "Throughput a GPU against speed of a user.");
    r.row_at<std::vector<planner::ServingRejection>>(
        [](auto& f) -> auto& { return f.plan.rejections; }, "rejections",
        kind::list(serving_rejection_record), "Layouts that were turned down, by rule.");
    r.row_at<std::optional<planner::NearestDeployment>>(
        [](auto& f) -> auto& { return f.plan.nearest; }, "nearest",
        kind::optional(kind::object(nearest_deployment_record)), "Where no deployment meets them.");
    r.row(&F::explanation, "explanation", kind::list(serving_term_difference_record),
          "Decode steps of the first two choices, term by term.");
    r.row(&F::what_ifs, "what_ifs", kind::list(serving_what_if_record), "One thing changed.");
    r.row(&F::learning, "learning", kind::optional(kind::object(serving_learning_record)),
          "From results of this engine; the scenario's engine has it.");
    r.row(&F::details, "details", kind::optional(kind::object(service_details_record)),
          "Of the first choice: other loads, memory, steps, use, energy.");
    r.row(&F::launch, "launch", kind::list(launch_file_record), "How the first choice is started.");
    r.omitted_at_default();
    r.row_at<int>(
        [](auto& f) -> auto& { return f.plan.layouts; }, "layouts", kind::integer({.low = 0}),
        "Valid replicas.");
    return r;
  }();
  return record;
}

namespace {

constexpr double kMostGpus = 1e9;

double gpus_of(const planner::ServingPool& pool) {
  const ReplicaLayout& l = pool.options.layout;
  return static_cast<double>(pool.replicas) * l.tensor_parallel_size * l.pipeline_parallel_size *
         l.data_parallel_size;
}

void require_countable(const Deployment& deployment, const std::string& file, std::size_t place) {
  const double gpus =
      gpus_of(deployment.pool) + (deployment.prefill ? gpus_of(*deployment.prefill) : 0.0);
  if (gpus <= kMostGpus) return;
  throw InputError(file, fmt::format("/choices/{}/deployment", place),
                   fmt::format("has {:.3g} GPUs (expected at most {:.0f})", gpus, kMostGpus));
}

}  // namespace

ServingPlanFile serving_plan_from_json(const Json& json, const std::string& file) {
  ServingPlanFile plan = serving_plan_record().read(json, file);
  for (std::size_t i = 0; i < plan.plan.choices.size(); ++i) {
    require_countable(plan.plan.choices[i].deployment, file, i);
  }
  if (plan.load.lengths.kind == LengthKind::list && plan.load.lengths.list.empty()) {
    throw InputError(file, "/load/length_list", "is empty (expected one length or more)");
  }
  return plan;
}

const Record<ServingSimulationFile>& serving_simulation_record() {
  static const Record<ServingSimulationFile> record = [] {
    using F = ServingSimulationFile;
    Record<F> r("A service, step by step.");
    r.file_of({"meshwright.serve_simulation/1"}, true);
    add_heading(r);
    r.row(&F::deployment, "deployment", kind::object(deployment_record), "What runs.");
    r.row(&F::metrics, "metrics", kind::object(serving_metrics_record), "What requests saw.");
    r.row(&F::steady, "steady", kind::optional(kind::object(steady_state_record)),
          "The closed form of the same load.");
    r.row(&F::goodput, "goodput", kind::number(), "Requests a second that meet the limits.");
    r.row(&F::duration, "duration_seconds", kind::number(), "Until the last request ends.");
    r.row(&F::busy_share, "busy_share", kind::number(), "Of the replicas' time.");
    r.row(&F::prefill_busy_share, "prefill_busy_share", kind::optional_number(),
          "Of the prefill pool's time.");
    r.row(&F::steps, "steps", kind::count(), "Of all replicas.");
    r.row(&F::preemptions, "preemptions", kind::count(), "Requests thrown out of the cache.");
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
