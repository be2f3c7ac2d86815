// SPDX-License-Identifier: Apache-2.0
#include "reports/records/serving_trials.h"

#include "reports/records/serving_deployments.h"
#include "reports/text/serving_validation_text.h"
#include "sim/json/serving_records.h"

namespace meshwright::reports {
namespace {

using planner::ServiceAtHostSpeed;
using planner::ServicesAtHostSpeed;
using planner::ServingComparison;
using planner::ServingValidation;

const Record<ServingTrials>& served_plan_record() {
  static const Record<ServingTrials> record = [] {
    Record<ServingTrials> r("The plan whose deployments were run.");
    r.row(&ServingTrials::plan, "file", kind::text(), "As the user named it.");
    return r.all_required();
  }();
  return record;
}

const Record<ServingComparison::Steps>& compared_steps_record() {
  static const Record<ServingComparison::Steps> record = [] {
    using S = ServingComparison::Steps;
    const auto time = kind::base_amount<Seconds>();
    Record<S> r("Steps of one kind.");
    r.named("ComparedSteps");
    r.row(&S::count, "steps", kind::integer({.low = 0}), "How many.");
    r.row(&S::predicted, "predicted_seconds", time, "Median.");
    r.row(&S::measured, "measured_seconds", time, "Median.");
    r.row(&S::absolute_error, "absolute_error", kind::number(),
          "Median of |predicted / measured - 1|.");
    return r.all_required();
  }();
  return record;
}

const Record<ServiceAtHostSpeed>& service_at_host_speed_record() {
  static const Record<ServiceAtHostSpeed> record = [] {
    using A = ServiceAtHostSpeed;
    Record<A> r("Errors of predictions for a host as fast as it was around the run.");
    r.named("ServiceAtHostSpeed");
    r.row(&A::step_error, "step_error", kind::number(), "Median over all steps.");
    r.row(&A::decode_error, "decode_error", kind::number(),
          "Of the median step that only decodes.");
    r.row(&A::tpot_error, "tpot_error", kind::number(), "Of the mean.");
    r.row(&A::ttft_error, "ttft_error", kind::number(), "Of the median.");
    r.row(&A::tokens_per_second, "output_tokens_per_second", kind::number(),
          "Measured, as if the host had been as fast as in its profile.");
    return r.all_required();
  }();
  return record;
}

const Record<ServicesAtHostSpeed>& services_at_host_speed_record() {
  static const Record<ServicesAtHostSpeed> record = [] {
    using A = ServicesAtHostSpeed;
    Record<A> r("The medians and the regret, corrected for the host's speed.");
    r.named("ServicesAtHostSpeed");
    r.row(&A::median_step_error, "median_step_error", kind::number(), "Over services.");
    r.row(&A::median_tpot_error, "median_tpot_error", kind::number(), "Over services.");
    r.row(&A::median_ttft_error, "median_ttft_error", kind::number(), "Over services.");
    r.row(&A::median_decode_error, "median_decode_error", kind::number(),
          "Over services, of their median decode steps.");
    r.row(&A::regret, "regret", kind::number(),
          "Throughput that the service predicted best loses.");
    return r.all_required();
  }();
  return record;
}

const Record<ServingComparison>& serving_comparison_record() {
  static const Record<ServingComparison> record = [] {
    using C = ServingComparison;
    const auto metrics = kind::object(serving_metrics_record);
    const auto steps = kind::object(compared_steps_record);
    Record<C> r("A service that was run, beside its prediction.");
    r.named("ServingComparison");
    r.row(&C::name, "name", kind::text(), "Replicas that ran, in short.");
    r.row_at<int>(
        [](auto& c) -> auto& { return c.observation.ranks; }, "ranks", kind::integer({.low = 0}),
        "Ranks that ran.");
    r.row(&C::predicted, "predicted", metrics, "Of the requests that ran.");
    r.row(&C::measured, "measured", metrics, "Of the same.");
    r.row(&C::decode, "decode_steps", steps, "Steps without prompts.");
    r.row(&C::mixed, "prompt_steps", steps, "Steps with prompts.");
    r.row(&C::step_error, "step_error", kind::number(), "Median over all steps.");
    r.row(&C::tpot_error, "tpot_error", kind::number(), "Of the mean.");
    r.row(&C::ttft_error, "ttft_error", kind::number(), "Of the median.");
    r.row(&C::throughput_error, "throughput_error", kind::number(), "Of output tokens a second.");
    r.row(&C::unlike_steps, "unlike_steps", kind::integer({.low = 0}),
          "Steps whose bytes are not the predicted ones.");
    r.row_at<std::vector<std::string>>(
        [](auto& c) -> auto& { return c.observation.not_run; }, "not_run", kind::texts(),
        "What was not run, in words.");
    r.all_required();
    r.row_at<std::string>(
        [](auto& c) -> auto& { return c.observation.device; }, "device", kind::text(),
        "What the ranks ran on: \"cpu\" or \"cuda\".");
    r.absent_in_older_files();
    r.row_at<std::optional<double>>(
        [](auto& c) -> auto& { return c.observation.host_time_ratio; }, "host_time_ratio",
        kind::optional(kind::number(kAboveZero)),
        "The host's times around the run over those of its profile. Absent where it was not "
        "measured.");
    r.row(&C::at_host_speed, "at_host_speed",
          kind::optional(kind::object(service_at_host_speed_record)),
          "Errors, corrected for the host's speed. Absent where it was not measured.");
    r.row(&C::handover, "handovers", steps,
          "Caches that changed pools, from the room for them on. Absent without pools.");
    r.omitted_at_default();
    r.row(&C::unlike_handovers, "unlike_handovers", kind::integer({.low = 0}),
          "Caches whose bytes are not the predicted ones.");
    r.omitted_at_default();
    return r;
  }();
  return record;
}

}  // namespace

const Record<ServingTrials>& serving_trials_record() {
  static const Record<ServingTrials> record = [] {
    using R = ServingTrials;
    Record<R> r("Deployments of a service that were run.");
    r.file_of({std::string(kServingTrialsSchema)}, true);
    r.rows_of(
        origin_record(), [](auto& trials) -> auto& { return trials.origin; });
    r.row_at<R>(
        [](auto& trials) -> auto& { return trials; }, "plan", kind::object(served_plan_record),
        "The plan whose deployments were run.");
    r.row(&R::observations, "observations", kind::list(serving_observation_record),
          "What happened, a deployment each.");
    return r.all_required();
  }();
  return record;
}

const Record<ServingValidationPart>& serving_validation_part_record() {
  static const Record<ServingValidationPart> record = [] {
    using P = ServingValidationPart;
    const auto of = [](auto ServingValidation::*member) {
      return [member](auto& part) -> auto& { return part.validation.*member; };
    };
    Record<P> r("Services that were run, beside their predictions.");
    r.named("ServingValidation");
    r.row(&P::caution, "caution", kind::text(), "What a reader must know; empty: nothing.");
    r.row_at<std::vector<ServingComparison>>(of(&ServingValidation::services), "services",
                                             kind::list(serving_comparison_record), "Each.");
    r.row_at<std::vector<std::string>>(of(&ServingValidation::skipped), "skipped", kind::texts(),
                                       "What did not run, and why.");
    r.row_at<double>(of(&ServingValidation::median_step_error), "median_step_error", kind::number(),
                     "Over services.");
    r.row_at<double>(of(&ServingValidation::median_tpot_error), "median_tpot_error", kind::number(),
                     "Over services.");
    r.row_at<double>(of(&ServingValidation::median_ttft_error), "median_ttft_error", kind::number(),
                     "Over services.");
    r.row_at<double>(of(&ServingValidation::median_decode_error), "median_decode_error",
                     kind::number(), "Over services, of their median decode steps.");
    r.row_at<double>(of(&ServingValidation::regret), "regret", kind::number(),
                     "Throughput that the service predicted best loses.");
    r.all_required();
    r.row_at<std::optional<ServicesAtHostSpeed>>(
        of(&ServingValidation::at_host_speed), "at_host_speed",
        kind::optional(kind::object(services_at_host_speed_record)),
        "Corrected for the host's speed. Absent where it was not measured.");
    r.derived<std::string>("sentence", kind::text(), "The result, for people.",
                           [](const P& part) { return served_sentence(part.validation); });
    return r;
  }();
  return record;
}

const Record<ServingValidationFile>& serving_validation_record() {
  static const Record<ServingValidationFile> record = [] {
    Record<ServingValidationFile> r("Services that were run, beside their predictions.");
    r.file_of({"meshwright.serve_validation/1"}, true);
    r.rows_of(
        origin_record(), [](auto& file) -> auto& { return file.origin; });
    r.all_required();
    r.rows_of(
        serving_validation_part_record(), [](auto& file) -> auto& { return file.part; });
    return r;
  }();
  return record;
}

}  // namespace meshwright::reports
