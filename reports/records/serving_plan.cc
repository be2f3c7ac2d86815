// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_plan.h"

#include <fmt/format.h>

#include "reports/records/parts.h"
#include "reports/records/service_details.h"
#include "reports/records/serving_deployments.h"
#include "sim/base/error.h"
#include "sim/json/input_records.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

constexpr auto kPlainSeconds = [] { return kind::base_amount<Seconds>(); };

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
    r.row(&W::ttft, "ttft_seconds", kind::optional(kPlainSeconds()),
          "Time to first token, as limits are.");
    r.row(&W::tpot, "tpot_seconds", kind::optional(kPlainSeconds()),
          "Time per output token, as limits are.");
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
    r.row(&F::validation, "validation",
          kind::optional(kind::object(serving_validation_part_record)),
          "Trials of the deployments beside their predictions. In a report with trials.");
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

void require_countable(const planner::Deployment& deployment, const std::string& file,
                       std::size_t place) {
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
