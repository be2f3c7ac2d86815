// SPDX-License-Identifier: Apache-2.0
// meshwright capacity for a job file that holds a training and a service.
#pragma once

#include "app/options/capacity_options.h"
#include "app/options/output.h"

namespace meshwright::app {

struct SharedCapacityCall {
  const CapacityRequest& request;  // has a service
  const CapacityTexts& texts;
  const OutputOptions& output;
};

// Returns the exit code: kGateFailed where no cluster does both within the limits.
int run_shared_capacity(const SharedCapacityCall& call, reports::Origin& origin);

}  // namespace meshwright::app
