// SPDX-License-Identifier: Apache-2.0
#include "app/commands/serving/trial_serving.h"

#include <algorithm>

#include "app/console/terminal.h"
#include "app/files/profile_files.h"
#include "app/runs/serving_trial_run.h"
#include "app/runs/trial_ranks.h"
#include "calibrate/launch/rank_place.h"
#include "reports/records/serving_plan.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

// Beyond the load itself: starting ranks, making weights, warm-up.
constexpr double kServingSlackSeconds = 300.0;
constexpr std::size_t kDefaultServices = 3;
// How much longer than said a load may take.
constexpr double kSlowerThanSaid = 20.0;

// Deployments that the trial can serve, best first, each once; the others are passed over aloud.
std::vector<planner::Deployment> servable(const reports::ServingPlanFile& plan, std::size_t count,
                                          std::string& first_reason) {
  std::vector<planner::Deployment> deployments;
  for (const planner::ServingChoice& choice : plan.plan.choices) {
    if (deployments.size() == count) break;
    const planner::Deployment& deployment = choice.deployment;
    ServingScenario scenario = plan.scenario;
    scenario.options = deployment.pool.options;
    const std::string reason =
        deployment.prefill
            ? calibrate::pools_unsupported(scenario, deployment.prefill->options, plan.load)
            : calibrate::serving_unsupported(scenario, plan.load);
    if (!reason.empty()) {
      if (first_reason.empty()) first_reason = reason;
      if (!calibrate::find_rank_place(calibrate::process_environment())) {
        say("trial: skipping {}: {}\n", planner::short_name(deployment), reason);
      }
      continue;
    }
    if (std::find(deployments.begin(), deployments.end(), deployment) == deployments.end()) {
      deployments.push_back(deployment);
    }
  }
  return deployments;
}

ServingTrialRun described_trial(const Json& json, const ServingTrialQuestion& question,
                                const reports::Origin& origin) {
  const reports::ServingPlanFile plan = reports::serving_plan_from_json(json, question.plan);
  if (plan.plan.choices.empty()) {
    throw InputError(question.plan, "/choices", "holds no deployment",
                     "has none that serves the load; its rejections give the reasons");
  }
  ServingTrialRun run;
  std::string reason;
  const std::size_t count =
      question.top > 0 ? static_cast<std::size_t>(question.top) : kDefaultServices;
  run.deployments = servable(plan, count, reason);
  if (run.deployments.empty()) {
    throw InputError(question.plan, "/choices",
                     "holds no deployment that the trial can run: " + reason);
  }
  run.plan = question.plan;
  run.origin = origin;
  run.out = question.out;
  run.backend = question.ranks.backend;
  run.rank_timeout = seconds(parse_duration("--rank-timeout", question.ranks.timeout));
  run.scenario = plan.scenario;
  run.load = plan.load;
  run.options.seed = question.seed;
  run.options.precision = question.precision;
  if (!question.profile.empty()) {
    run.profile = load_profile_of(only_device(plan.scenario.cluster).name, question.profile);
  }
  return run;
}

int start_serving_trial(const ServingTrialQuestion& question, const ServingTrialRun& run,
                        const Call& call) {
  int largest = 1;
  for (const planner::Deployment& deployment : run.deployments) {
    largest = std::max(largest, planner::num_gpus(deployment));
  }
  const double each = kSlowerThanSaid * question.time_limit + kServingSlackSeconds;
  return start_trial_ranks(
      question.ranks,
      {largest, each * static_cast<double>(run.deployments.size()), run.out, "deployment"}, call);
}

}  // namespace

bool is_serving_plan(const Json& plan) {
  return plan.is_object() && plan.value("schema", Json()) == Json(reports::kServingPlanSchema);
}

int run_serving_trial_command(const Json& plan, ServingTrialQuestion question,
                              const reports::Origin& origin, const Call& call) {
  choose_backend(question.ranks, false);
  const ServingTrialRun run = described_trial(plan, question, origin);
  if (const auto place = calibrate::find_rank_place(calibrate::process_environment())) {
    return run_serving_trial_rank(run, *place);
  }
  check_backend(question.ranks.backend);
  return start_serving_trial(question, run, call);
}

}  // namespace meshwright::app
