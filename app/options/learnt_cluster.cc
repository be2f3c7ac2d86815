// SPDX-License-Identifier: Apache-2.0
#include "app/options/learnt_cluster.h"

#include "app/files/files.h"
#include "app/files/measurements.h"
#include "app/files/observations.h"
#include "app/options/refit_options.h"
#include "planner/accuracy/learning.h"
#include "planner/accuracy/validation.h"

namespace meshwright::app {
namespace {

constexpr int kKnownBetter = 10;  // of the fastest layouts, however many are shown

// The plan's own layouts, whose steps are to be known better.
planner::MeasuredSet candidates_of(const planner::Plan& plan) {
  planner::MeasuredSet set;
  for (const Estimate& estimate : plan.ranked) {
    planner::MeasuredRun run;
    run.model = plan.model;
    run.cluster = plan.cluster;
    run.job = plan.job;
    run.layout = estimate.layout;
    run.step_time = estimate.step_time;
    set.runs.push_back(std::move(run));
  }
  return set;
}

// Trials, or a set of measured runs of this machine.
planner::MeasuredSet runs_in(const std::string& path, const Inputs& inputs,
                             reports::Origin& origin) {
  const Json json = read_input("learn", path, origin);
  if (json.is_object() && json.contains("runs")) {
    planner::MeasuredSet set = measurements_from_json(
        json, path, {.cluster = std::nullopt, .framework = inputs.cluster.framework});
    say_unread(set);
    return set;
  }
  return planner::observed_runs(inputs, observations_from_json(json, path));
}

}  // namespace

Cluster learnt_cluster(const std::string& path, const Inputs& inputs,
                       const planner::SearchOptions& search, reports::Origin& origin) {
  const planner::MeasuredSet runs = runs_in(path, inputs, origin);
  planner::SearchOptions fastest = search;
  fastest.top = kKnownBetter;
  const planner::Plan before = planner::search(inputs, fastest);
  const planner::MeasuredSet candidates = before.ranked.empty() ? runs : candidates_of(before);
  const planner::Learning found =
      planner::learn(runs, planner::all_framework_scalars(), candidates);
  print_refit(found.refit, path);
  return planner::with_learnt(inputs.cluster, found);
}

}  // namespace meshwright::app
