// SPDX-License-Identifier: Apache-2.0
// Answers of serve and serve simulate as records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/serving/service_details.h"
#include "planner/serving/serving_learning.h"
#include "planner/serving/serving_search.h"
#include "reports/records/origin.h"
#include "reports/records/serving_trials.h"
#include "sim/base/launch_file.h"
#include "sim/record/record.h"

namespace meshwright::reports {

// Whose prices the money is made of.
struct ServicePrices {
  std::string name{}, date{};
  bool example = false;
};

struct ServingPlanFile {
  Origin origin{};
  std::vector<std::string> notes{};
  // Sentences of the first screen, from the numbers below (sections/service_text.h); empty: not
  // written yet.
  std::string verdict{}, why_not_fewer{}, how_sure{};
  std::string model{}, cluster{}, device{}, engine{};
  ServingScenario scenario{};  // options: the choices have them
  ServingLoad load{};
  LatencyLimits limits{};
  double percentile = 0;
  std::string currency{};
  std::optional<ServicePrices> prices{};
  planner::ServingPlan plan{};
  std::optional<planner::ServiceDetails> details{};           // of the first choice
  std::vector<LaunchFile> launch{};                           // of the first choice
  std::vector<planner::ServingTermDifference> explanation{};  // of the first two choices
  std::vector<planner::ServingWhatIf> what_ifs{};
  std::optional<planner::ServingLearning> learning{};  // from results; the scenario's engine has it
  std::optional<ServingValidationPart> validation{};   // of its trials, in a report
};
inline constexpr std::string_view kServingPlanSchema = "meshwright.serve_plan/1";
const Record<ServingPlanFile>& serving_plan_record();
// Throws InputError, also for a deployment of more GPUs than can be counted, and for an empty list
// of lengths.
ServingPlanFile serving_plan_from_json(const Json& json, const std::string& file);

struct ServingSimulationFile {
  Origin origin{};
  std::vector<std::string> notes{};
  std::string model{}, cluster{}, device{}, engine{};
  planner::Deployment deployment{};
  ServingLoad load{};
  ServingMetrics metrics{};
  std::optional<SteadyState> steady{};  // the closed form of the same load
  double goodput = 0, duration = 0, busy_share = 0;
  std::optional<double> prefill_busy_share{};
  std::int64_t steps = 0, preemptions = 0;
};
const Record<ServingSimulationFile>& serving_simulation_record();

}  // namespace meshwright::reports
