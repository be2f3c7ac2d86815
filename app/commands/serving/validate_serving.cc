// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/validate_serving.h"

#include "app/commands/error_gate.h"
#include "app/console/call.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/observations.h"
#include "app/files/serving_files.h"
#include "reports/records/serving_plan.h"
#include "reports/records/serving_trials.h"
#include "reports/tables/serving_validation_table.h"
#include "reports/text/serving_validation_text.h"

namespace meshwright::app {
namespace {

void say_services(const planner::ServingValidation& validation) {
  for (const std::string& part : reports::served_in_part(validation)) say("not run: {}\n", part);
  for (const std::string& skipped : validation.skipped) say("skipped {}\n", skipped);
}

int serving_verdict(const planner::ServingValidation& validation,
                    const ServingValidationQuestion& question) {
  if (validation.services.empty()) {
    say("{}\n", reports::served_sentence(validation));
    return kGateFailed;
  }
  for (const reports::ServingFinding& one : reports::serving_findings(validation)) {
    say("{:<11}{}\n", one.of, one.says);
  }
  int exit_code = kDone;
  if (question.max_error) {
    exit_code = error_gate("median absolute error of steps", validation.median_step_error,
                           *question.max_error);
  }
  const Call next{{"report", question.plan, "--trials", question.trials}};
  say_next(question.force ? next.with({"--force"}) : next);
  return exit_code;
}

}  // namespace

int run_serving_validation(const Json& plan, const Json& trials,
                           const ServingValidationQuestion& question,
                           const reports::Origin& origin) {
  reports::ServingPlanFile file = reports::serving_plan_from_json(plan, question.plan);
  require_service_trials(trials, question.trials);
  const std::string caution = caution_about(trials, question.trials, origin, question.force);
  const reports::ServingTrials served =
      reports::serving_trials_record().read(trials, question.trials);
  if (!question.cluster.empty()) file.scenario.cluster = load_serving_cluster(question.cluster);
  const planner::ServingValidation validation =
      planner::validate_serving(file.scenario, file.load, served.observations);
  const std::string json =
      reports::serving_validation_record().write({origin, {validation, caution}}).dump(2) + "\n";
  if (!caution.empty()) say("{}\n", caution);
  const std::vector<reports::Table> tables{reports::serving_validation_table(validation)};
  if (write_answer_file(question.output, json)) {
    write_output(question.output.to_standard_output(), tables, json);
  }
  say_services(validation);
  return serving_verdict(validation, question);
}

}  // namespace meshwright::app
