// SPDX-License-Identifier: Apache-2.0
// review of a service, and serve read: what its launch file says, whether it fits, what is
// predicted and what is better.
#pragma once

#include <string>

#include "app/console/call.h"
#include "app/options/output.h"
#include "app/options/serve_options.h"
#include "app/runs/launched_service.h"

namespace meshwright::app {

class Command;

struct ServiceReviewOptions {
  LaunchedServiceOptions service;
  LimitOptions limits;
  std::string log, launch_out;
  OutputOptions output;
  int top = 3;
};
// --engine, --weights, the load and its limits.
void add_service_options(Command& command, LaunchedServiceOptions& options, LimitOptions& limits);
// Throws InputError where one is given: a training run would ignore it.
void refuse_service_options(const LaunchedServiceOptions& options, const LimitOptions& limits,
                            const std::string& from);
int review_service(const ServiceReviewOptions& options, const Call& call);

}  // namespace meshwright::app
