// SPDX-License-Identifier: Apache-2.0
#include "app/commands/validate_serving.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/commands/error_gate.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/observations.h"
#include "app/files/serving_files.h"
#include "reports/records/serving_plan.h"
#include "reports/records/serving_trials.h"
#include "reports/tables/serving_validation_table.h"
#include "sim/base/number_text.h"

namespace meshwright::app {
namespace {

void say_services(const planner::ServingValidation& validation) {
  for (const planner::ServingComparison& one : validation.services) {
    if (one.observation.not_run.empty()) continue;
    say("{}: not run: {}\n", planner::name_of_run(one.observation),
        fmt::join(one.observation.not_run, "; "));
  }
  for (const std::string& skipped : validation.skipped) say("skipped {}\n", skipped);
}

int serving_verdict(const planner::ServingValidation& validation,
                    const ServingValidationQuestion& question) {
  if (validation.services.empty()) {
    say("No trial could be compared.\n");
    return kGateFailed;
  }
  const auto percent = [](double share) { return number_text(100.0 * share, 3); };
  const auto same = std::count_if(validation.services.begin(), validation.services.end(),
                                  [](const auto& one) { return one.same_bytes(); });
  using AtHost = planner::ServicesAtHostSpeed;
  const auto& host = validation.at_host_speed;
  // ", 4.1 % corrected for the host's speed"
  const auto corrected = [&](double AtHost::*error) {
    return host ? ", " + percent((*host).*error) + " % corrected for the host's speed" : "";
  };
  say("step time  median error {} % of single steps{}\n", percent(validation.median_step_error),
      corrected(&AtHost::median_step_error));
  say("decode     median error {} % of the median steps{}\n",
      percent(validation.median_decode_error), corrected(&AtHost::median_decode_error));
  say("TPOT       median error {} % of the means{}\n", percent(validation.median_tpot_error),
      corrected(&AtHost::median_tpot_error));
  say("TTFT       median error {} % of the medians{}\n", percent(validation.median_ttft_error),
      corrected(&AtHost::median_ttft_error));
  for (const planner::ServingComparison& one : validation.services) {
    if (one.handover.count == 0) continue;
    say("hand-over  {}: {} ms predicted, {} ms measured, median of {} caches\n",
        planner::name_of_run(one.observation),
        number_text(one.handover.predicted / milliseconds(1), 3),
        number_text(one.handover.measured / milliseconds(1), 3), one.handover.count);
  }
  say("choice     the service predicted best gives {} % less than the best one{}\n",
      percent(validation.regret), corrected(&AtHost::regret));
  say("bytes      as predicted in {} of {} services\n", same, validation.services.size());
  if (!question.max_error) return kDone;
  return error_gate("median absolute error of steps", validation.median_step_error,
                    *question.max_error);
}

}  // namespace

int run_serving_validation(const Json& plan, const Json& trials,
                           const ServingValidationQuestion& question,
                           const reports::Origin& origin) {
  reports::ServingPlanFile file = reports::serving_plan_from_json(plan, question.plan);
  const std::string caution = caution_about(trials, question.trials, origin, question.force);
  const reports::ServingTrials served =
      reports::serving_trials_record().read(trials, question.trials);
  if (!question.cluster.empty()) file.scenario.cluster = load_serving_cluster(question.cluster);
  const planner::ServingValidation validation =
      planner::validate_serving(file.scenario, file.load, served.observations);
  const std::string json =
      reports::serving_validation_record().write({origin, validation, caution}).dump(2) + "\n";
  if (!caution.empty()) say("{}\n", caution);
  const std::vector<reports::Table> tables{reports::serving_validation_table(validation)};
  if (write_answer_file(question.output, json)) {
    write_output({.format = question.output.format, .out = "-"}, tables, json);
  }
  say_services(validation);
  return serving_verdict(validation, question);
}

}  // namespace meshwright::app
