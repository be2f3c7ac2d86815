// SPDX-License-Identifier: Apache-2.0
// A service that somebody has, put together from its launch file, the cluster, and what the user
// named beside them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "interop/serving/serving_launch.h"
#include "planner/serving/deployment.h"
#include "reports/records/origin.h"

namespace meshwright::app {

struct LaunchedServiceOptions {
  std::string from, model, cluster, engine, weights;  // empty: not given
  std::vector<std::string> variables;                 // "TP=8"
  std::string arguments;                              // of the script
  std::optional<double> concurrency, rate;
  std::optional<int> input, output;
};

struct LaunchedService {
  interop::ServingLaunch launch;
  ServingScenario scenario;  // options: formats of the decode pool, without a layout
  std::string cluster_name;
  planner::Deployment deployment;
  std::optional<ServingLoad> load;
};

// Tells whether a regular file starts an inference engine. A pipe does not: it can be read once.
bool starts_service(const std::string& file);

// All services that a file starts.
std::vector<interop::ServingLaunch> read_services(const std::string& file,
                                                  const std::vector<std::string>& variables,
                                                  const std::string& arguments,
                                                  reports::Origin& origin);
// Throws InputError: the file starts several.
interop::ServingLaunch read_service(const std::string& file, reports::Origin& origin);

// What was assumed goes into the launch. Throws InputError.
LaunchedService launched_service(interop::ServingLaunch launch,
                                 const LaunchedServiceOptions& options, reports::Origin& origin);

// Why the engine stops before it loads a model: GPUs that are not there, words that it refuses, and
// options that its version no longer has. The version is that of `engine` (a file or name), else as
// the launch says, else the newest shipped one. Empty: nothing is known to stop it.
std::string why_no_start(const interop::ServingLaunch& launch, const std::string& engine);

}  // namespace meshwright::app
