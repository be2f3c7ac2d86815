// SPDX-License-Identifier: Apache-2.0
// How a planned deployment is started, in each form that interop/serving writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interop/serving/write_serving.h"
#include "planner/serving/deployment.h"
#include "sim/base/launch_file.h"

namespace meshwright::app {

// "command", "kubernetes", "dynamo". Throws InputError.
interop::ServingForm launch_form_of(const std::string& name);

// What the engine loads: its name in the commands (empty: the model's own), and how it stores its
// weights, where its config.json, its name or the shipped model says so.
struct ServedCheckpoint {
  std::string name;
  std::optional<WeightFormat> stored;
};
interop::ServingLaunch service_launch(const ServingScenario& scenario,
                                      const planner::Deployment& deployment,
                                      const ServedCheckpoint& checkpoint);

// The hosts of a cluster, each with its devices.
interop::ServingHosts serving_hosts(const Cluster& cluster);

// Every form. One that cannot say the deployment has the reason.
std::vector<LaunchFile> service_launch_files(const interop::ServingLaunch& launch,
                                             const interop::ServingHosts& hosts);

}  // namespace meshwright::app
