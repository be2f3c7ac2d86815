// SPDX-License-Identifier: Apache-2.0
// The question of a job file that holds a training and a service.
#pragma once

#include "app/options/capacity_options.h"
#include "planner/shared_cluster/shared_capacity.h"

namespace meshwright::app {

struct SharedRequest {
  planner::SharedQuestion question{};
  std::vector<std::string> notes{};
};

// `request` has a service. Reads its model and engine. Throws InputError.
SharedRequest shared_request_of(const CapacityRequest& request, const CapacityTexts& texts,
                                reports::Origin& origin);

}  // namespace meshwright::app
