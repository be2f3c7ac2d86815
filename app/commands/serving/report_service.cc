// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/report_service.h"

#include <fmt/format.h>

#include "app/commands/serving/trial_serving.h"
#include "app/files/files.h"
#include "app/files/observations.h"
#include "reports/page.h"
#include "reports/records/serving_plan.h"
#include "reports/records/serving_trials.h"
#include "reports/sections/service_text.h"
#include "reports/tables/serving_plan_tables.h"
#include "reports/tables/serving_validation_table.h"
#include "reports/text/serving_validation_text.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

void refuse_profile(const std::string& profile) {
  if (profile.empty()) return;
  throw InputError(profile, "", "is for a training plan; the page of a service shows no profile",
                   "leave out --profile");
}

// Without --trials a report that is read again keeps those that it has.
void add_service_trials(reports::ServingPlanFile& file, const ReportOptions& options,
                        reports::Origin& origin) {
  if (options.trials.empty()) return;
  const Json trials = read_input("trials", options.trials, origin);
  require_service_trials(trials, options.trials);
  const std::string caution = caution_about(trials, options.trials, origin, options.force);
  const reports::ServingTrials served =
      reports::serving_trials_record().read(trials, options.trials);
  file.validation = reports::ServingValidationPart{
      planner::validate_serving(file.scenario, file.load, served.observations), caution};
}

std::vector<reports::Table> service_report_tables(const reports::ServingPlanFile& file) {
  std::vector<reports::Table> tables{named("choices", reports::serving_choices_table(file)),
                                     named("money", reports::serving_money_table(file))};
  if (!file.validation) return tables;
  const planner::ServingValidation& validation = file.validation->validation;
  tables.push_back(named("validation", reports::serving_validation_table(validation)));
  tables.back().title = "Predicted and measured";
  tables.push_back(named("quantities", reports::served_quantities_table(validation)));
  return tables;
}

}  // namespace

int report_service(const ReportOptions& options, const Json& plan, reports::Origin origin) {
  refuse_profile(options.profile);
  reports::ServingPlanFile file = reports::serving_plan_from_json(plan, options.plan);
  add_service_trials(file, options, origin);
  reports::add_service_sentences(file);
  std::string sentence = file.verdict;
  if (file.validation) sentence += "\n" + reports::served_sentence(file.validation->validation);
  return write_page(options,
                    {.html = reports::service_html(file),
                     .record = reports::record_text(reports::serving_plan_record().write(file)),
                     .sentence = sentence,
                     .tables = service_report_tables(file)});
}

void refuse_several_services(const Json& plan, const std::string& file) {
  if (!plan.is_array() || plan.empty() || !is_serving_plan(plan.front())) return;
  throw InputError(file, "", fmt::format("has {} service plans; expected one", plan.size()),
                   "run meshwright serve with one --cluster");
}

}  // namespace meshwright::app
