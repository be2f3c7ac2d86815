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
  return described([](Record<ServingTrials>& r) {
    r.about("The plan whose deployments were run.");
    r.row<&ServingTrials::plan>("file", "As the user named it.");
    r.all_required();
  });
}

const Record<ServingComparison::Steps>& compared_steps_record() {
  return described([](Record<ServingComparison::Steps>& r) {
    using S = ServingComparison::Steps;
    r.about("Steps of one kind.");
    r.named("ComparedSteps");
    r.row<&S::count>("steps", IntRange{.low = 0}, "How many.");
    r.row<&S::predicted>("Median.");
    r.row<&S::measured>("Median.");
    r.row<&S::absolute_error>("Median of |predicted / measured - 1|.");
    r.all_required();
  });
}

const Record<ServiceAtHostSpeed>& service_at_host_speed_record() {
  return described([](Record<ServiceAtHostSpeed>& r) {
    using A = ServiceAtHostSpeed;
    r.about("Errors of predictions for a host as fast as it was around the run.");
    r.named("ServiceAtHostSpeed");
    r.row<&A::step_error>("Median over all steps.");
    r.row<&A::decode_error>("Of the median step that only decodes.");
    r.row<&A::tpot_error>("Of the mean.");
    r.row<&A::ttft_error>("Of the median.");
    r.row<&A::tokens_per_second>("output_tokens_per_second",
                                 "Measured, as if the host had been as fast as in its profile.");
    r.all_required();
  });
}

const Record<ServicesAtHostSpeed>& services_at_host_speed_record() {
  return described([](Record<ServicesAtHostSpeed>& r) {
    using A = ServicesAtHostSpeed;
    r.about("The medians and the regret, corrected for the host's speed.");
    r.named("ServicesAtHostSpeed");
    r.row<&A::median_step_error>("Over services.");
    r.row<&A::median_tpot_error>("Over services.");
    r.row<&A::median_ttft_error>("Over services.");
    r.row<&A::median_decode_error>("Over services, of their median decode steps.");
    r.row<&A::regret>("Throughput that the service predicted best loses.");
    r.all_required();
  });
}

const Record<ServingComparison>& serving_comparison_record() {
  return described([](Record<ServingComparison>& r) {
    using C = ServingComparison;
    r.about("A service that was run, beside its prediction.");
    r.named("ServingComparison");
    r.row<&C::name>("Replicas that ran, in short.");
    r.row_at(
        [](auto& c) -> auto& { return c.observation.ranks; }, "ranks", IntRange{.low = 0},
        "Ranks that ran.");
    r.row<&C::predicted>(serving_metrics_record, "Of the requests that ran.");
    r.row<&C::measured>(serving_metrics_record, "Of the same.");
    r.row<&C::decode>("decode_steps", compared_steps_record, "Steps without prompts.");
    r.row<&C::mixed>("prompt_steps", compared_steps_record, "Steps with prompts.");
    r.row<&C::step_error>("Median over all steps.");
    r.row<&C::tpot_error>("Of the mean.");
    r.row<&C::ttft_error>("Of the median.");
    r.row<&C::throughput_error>("Of output tokens a second.");
    r.row<&C::unlike_steps>(IntRange{.low = 0}, "Steps whose bytes are not the predicted ones.");
    r.row_at(
        [](auto& c) -> auto& { return c.observation.not_run; }, "not_run",
        "What was not run, in words.");
    r.all_required();
    r.row_at(
        [](auto& c) -> auto& { return c.observation.device; }, "device",
        "What the ranks ran on: \"cpu\" or \"cuda\".");
    r.absent_in_older_files();
    r.row_at(
        [](auto& c) -> auto& { return c.observation.host_time_ratio; }, "host_time_ratio",
        kAboveZero,
        "The host's times around the run over those of its profile. Absent where it was not "
        "measured.");
    r.row<&C::at_host_speed>(
        service_at_host_speed_record,
        "Errors, corrected for the host's speed. Absent where it was not measured.");
    r.row<&C::handover>(
        "handovers", compared_steps_record,
        "Caches that changed pools, from the room for them on. Absent without pools.");
    r.omitted_at_default();
    r.row<&C::unlike_handovers>(IntRange{.low = 0},
                                "Caches whose bytes are not the predicted ones.");
    r.omitted_at_default();
  });
}

}  // namespace

const Record<ServingTrials>& serving_trials_record() {
  return described([](Record<ServingTrials>& r) {
    using R = ServingTrials;
    r.about("Deployments of a service that were run.");
    r.file_of({std::string(kServingTrialsSchema)}, true);
    add_origin(r);
    r.row_at(
        [](auto& trials) -> auto& { return trials; }, "plan", served_plan_record,
        "The plan whose deployments were run.");
    r.row<&R::observations>(serving_observation_record, "What happened, a deployment each.");
    r.all_required();
  });
}

const Record<ServingValidationPart>& serving_validation_part_record() {
  static const Record<ServingValidationPart> record = [] {
    using P = ServingValidationPart;
    const auto of = [](auto ServingValidation::*member) {
      return [member](auto& part) -> auto& { return part.validation.*member; };
    };
    Record<P> r("Services that were run, beside their predictions.");
    r.named("ServingValidation");
    r.row<&P::caution>("What a reader must know; empty: nothing.");
    r.row_at(of(&ServingValidation::services), "services", serving_comparison_record, "Each.");
    r.row_at(of(&ServingValidation::skipped), "skipped", "What did not run, and why.");
    r.row_at(of(&ServingValidation::median_step_error), "median_step_error", "Over services.");
    r.row_at(of(&ServingValidation::median_tpot_error), "median_tpot_error", "Over services.");
    r.row_at(of(&ServingValidation::median_ttft_error), "median_ttft_error", "Over services.");
    r.row_at(of(&ServingValidation::median_decode_error), "median_decode_error",
             "Over services, of their median decode steps.");
    r.row_at(of(&ServingValidation::regret), "regret",
             "Throughput that the service predicted best loses.");
    r.all_required();
    r.row_at(of(&ServingValidation::at_host_speed), "at_host_speed", services_at_host_speed_record,
             "Corrected for the host's speed. Absent where it was not measured.");
    r.derived<std::string>("sentence", kind::text(), "The result, for people.",
                           [](const P& part) { return served_sentence(part.validation); });
    return r;
  }();
  return record;
}

const Record<ServingValidationFile>& serving_validation_record() {
  return described([](Record<ServingValidationFile>& r) {
    r.about("Services that were run, beside their predictions.");
    r.file_of({"meshwright.serve_validation/1"}, true);
    add_origin(r);
    r.all_required();
    r.rows_of(
        serving_validation_part_record(), [](auto& file) -> auto& { return file.part; });
  });
}

}  // namespace meshwright::reports
