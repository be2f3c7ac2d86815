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
  return described([](Record<LatencyLimits>& r) {
    using L = LatencyLimits;
    r.about("Limits of the service.");
    r.row<&L::ttft>("ttft_seconds", kPlainSeconds(), "Time to first token.");
    r.row<&L::tpot>("tpot_seconds", kPlainSeconds(), "Time per output token.");
    r.row<&L::e2e>("e2e_seconds", kPlainSeconds(), "Whole request.");
  });
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
    r.row<&S::model>(model_record, "The model.").required();
    r.row_at(ClusterOf{}, "cluster", cluster_record, "The cluster.");
    r.required();
    r.row_at(
        [](auto& s) -> auto& { return s.cluster.inference; }, "inference", inference_rates_record,
        "Rates of its device's inference kernels.");
    r.row<&S::engine>(engine_record, "The engine.").required();
    return r;
  }();
  return record;
}

const Record<planner::ServingParetoPoint>& serving_pareto_record() {
  return described([](Record<planner::ServingParetoPoint>& r) {
    using P = planner::ServingParetoPoint;
    r.about("One layout at one number of users.");
    r.row<&P::name>("deployment", "What runs.");
    r.row<&P::users>("Requests at a time.");
    r.row<&P::ttft>("Time to first token.");
    r.row<&P::tpot>("Time per output token.");
    r.row<&P::tokens_per_second_per_gpu>("output_tokens_per_second_per_gpu", "Throughput.");
    r.row<&P::tokens_per_second_per_user>("1 / TPOT.");
  });
}

const Record<planner::ServingRejection>& serving_rejection_record() {
  return described([](Record<planner::ServingRejection>& r) {
    using R = planner::ServingRejection;
    r.about("Layouts that one rule turned down.");
    r.row<&R::rule>("Of the engine, or a limit.");
    r.row<&R::count>("Layouts.");
    r.row<&R::nearest>("The one that missed least.");
    r.row<&R::sentence>("By how much.");
    r.row<&R::remedy>("What to change.");
  });
}

const Record<planner::NearestDeployment>& nearest_deployment_record() {
  return described([](Record<planner::NearestDeployment>& r) {
    using N = planner::NearestDeployment;
    r.about("The deployment that misses the limits least, at one request at a time.");
    r.row<&N::name>("deployment", "What runs.");
    r.row<&N::ttft>("Time to first token.");
    r.row<&N::tpot>("Time per output token.");
    r.row<&N::ratio>("The larger of time / limit.");
  });
}

const Record<planner::ServingWhatIf>& serving_what_if_record() {
  return described([](Record<planner::ServingWhatIf>& r) {
    using W = planner::ServingWhatIf;
    r.about("The question with one thing changed.");
    r.row<&W::name>("change", "What is changed.");
    r.row<&W::gpus>(IntRange{.low = 0}, "GPUs; 0: no deployment meets the limits.");
    r.row<&W::deployment>("What runs.");
    r.row<&W::ttft>("ttft_seconds", kPlainSeconds(), "Time to first token, as limits are.");
    r.row<&W::tpot>("tpot_seconds", kPlainSeconds(), "Time per output token, as limits are.");
    r.row<&W::million_output>("million_output_tokens", "Price of a million output tokens.");
  });
}

const Record<planner::ServingTermDifference>& serving_term_difference_record() {
  return described([](Record<planner::ServingTermDifference>& r) {
    using D = planner::ServingTermDifference;
    r.about("One term of the decode step of the first two choices, each at its own batch.");
    r.row<&D::term>(kStepTermNames, "Which.");
    r.row<&D::first>("Of the first.");
    r.row<&D::second>("Of the second.");
  });
}

const Record<planner::ServingEvidence>& serving_evidence_record() {
  return described([](Record<planner::ServingEvidence>& r) {
    using E = planner::ServingEvidence;
    r.about(
        "A configuration that was measured. Times in seconds, throughput in tokens per "
        "second.");
    r.row<&E::id>("Of its first result.");
    r.row<&E::results>("That repeat it.");
    r.row<&E::quantity>(planner::kServingQuantityNames, "What was compared.");
    r.row<&E::measured>("Geometric mean of its results.");
    r.row<&E::predicted>("Before.");
    r.row<&E::corrected>("With the factor.");
  });
}

const Record<planner::UnreadService>& left_out_result_record() {
  return described([](Record<planner::UnreadService>& r) {
    using U = planner::UnreadService;
    r.about("A result that nothing was learnt from.");
    r.row<&U::id>("Its name.");
    r.row<&U::line>(IntRange{.low = 0}, "Its line; 0: not known.");
    r.row<&U::reason>("Why.");
  });
}

const Record<planner::ServingLearning>& serving_learning_record() {
  return described([](Record<planner::ServingLearning>& r) {
    using L = planner::ServingLearning;
    r.about("What results of this engine on this machine taught.");
    r.row<&L::factor>("Of every step's time, over the prediction.");
    r.row<&L::factor_low>("Low end of its 90 % interval.");
    r.row<&L::factor_high>("High end.");
    r.row<&L::spread_before>(
        "Of a step's time without the results, one relative standard deviation.");
    r.row<&L::spread>("The same with them.");
    r.row<&L::repeat_spread>("Of results of one configuration; the spread is never below it.");
    r.row<&L::configurations>("That were measured.");
    r.row<&L::results>("Of them, repeats counted.");
    r.row<&L::evidence>(serving_evidence_record, "Each configuration.");
    r.row<&L::left_out>(left_out_result_record, "Results, and why.");
  });
}

const Record<ServicePrices>& service_prices_record() {
  return described([](Record<ServicePrices>& r) {
    using P = ServicePrices;
    r.about("Whose prices the money is made of.");
    r.row<&P::name>("The price list.");
    r.row<&P::date>("Its date.");
    r.row<&P::example>("Prices are an example, no offer.");
  });
}

// What every answer about a service says first.
template <typename File>
void add_heading(Record<File>& r) {
  add_origin(r);
  r.template row<&File::notes>("What a reader must know of it.");
  r.template row<&File::model>("The model.");
  r.template row<&File::cluster>("The cluster.");
  r.template row<&File::device>("Its GPU.");
  r.template row<&File::engine>("The engine.");
  r.template row<&File::load>(serving_load_record, "What is asked of it.");
}

}  // namespace

const Record<ServingPlanFile>& serving_plan_record() {
  return described([](Record<ServingPlanFile>& r) {
    using F = ServingPlanFile;
    r.about("Deployments of a service, best first.");
    r.file_of({std::string(kServingPlanSchema)}, true);
    add_heading(r);
    r.row<&F::verdict>("The answer in one sentence.").omitted_at_default();
    r.row<&F::why_not_fewer>("What one replica fewer would do.");
    r.omitted_at_default();
    r.row<&F::how_sure>("The interval, and what it depends on.");
    r.omitted_at_default();
    r.row<&F::scenario>(serving_scenario_record, "Model, cluster and engine, for a trial.");
    r.required();
    r.row<&F::limits>(latency_limits_record, "Limits of the service.");
    r.row<&F::percentile>("Of the limits; 0: means.");
    r.row<&F::currency>("Of money.");
    r.row<&F::prices>(service_prices_record, "Where the money comes from.");
    r.row_at(
        [](auto& f) -> auto& { return f.plan.choices; }, "choices", serving_choice_record,
        "Best first.");
    r.required();
    r.row_at(
        [](auto& f) -> auto& { return f.plan.front; }, "pareto", serving_pareto_record,
        "Throughput a GPU against speed of a user.");
    r.row_at(
        [](auto& f) -> auto& { return f.plan.rejections; }, "rejections", serving_rejection_record,
        "Layouts that were turned down, by rule.");
    r.row_at(
        [](auto& f) -> auto& { return f.plan.nearest; }, "nearest", nearest_deployment_record,
        "Where no deployment meets them.");
    r.row<&F::explanation>(serving_term_difference_record,
                           "Decode steps of the first two choices, term by term.");
    r.row<&F::what_ifs>(serving_what_if_record, "One thing changed.");
    r.row<&F::learning>(serving_learning_record,
                        "From results of this engine; the scenario's engine has it.");
    r.row<&F::details>(service_details_record,
                       "Of the first choice: other loads, memory, steps, use, energy.");
    r.row<&F::validation>(
        serving_validation_part_record,
        "Trials of the deployments beside their predictions. In a report with trials.");
    r.row<&F::launch>(launch_file_record, "How the first choice is started.");
    r.omitted_at_default();
    r.row_at(
        [](auto& f) -> auto& { return f.plan.layouts; }, "layouts", IntRange{.low = 0},
        "Valid replicas.");
  });
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
  return described([](Record<ServingSimulationFile>& r) {
    using F = ServingSimulationFile;
    r.about("A service, step by step.");
    r.file_of({"meshwright.serve_simulation/1"}, true);
    add_heading(r);
    r.row<&F::deployment>(deployment_record, "What runs.");
    r.row<&F::metrics>(serving_metrics_record, "What requests saw.");
    r.row<&F::steady>(steady_state_record, "The closed form of the same load.");
    r.row<&F::goodput>("Requests a second that meet the limits.");
    r.row<&F::duration>("duration_seconds", "Until the last request ends.");
    r.row<&F::busy_share>("Of the replicas' time.");
    r.row<&F::prefill_busy_share>("Of the prefill pool's time.");
    r.row<&F::steps>(kind::count(), "Of all replicas.");
    r.row<&F::preemptions>(kind::count(), "Requests thrown out of the cache.");
  });
}

}  // namespace meshwright::reports
