// SPDX-License-Identifier: Apache-2.0
// What to change of a service that an engine does not start, or that does not hold its requests.
#pragma once

#include <optional>
#include <string>

#include "planner/serving/deployment.h"

namespace meshwright::planner {

// Where memory is missing: each single change that suffices by itself (a shorter max_model_len,
// more tensor ranks within a node, narrower weights or cache). Else, and where none does, the
// rule's own remedy. The load is that of refused().
std::string remedy_of(const RefusedPool& refusal, const ServingScenario& scenario,
                      const Deployment& deployment, const std::optional<ServingLoad>& load = {});

}  // namespace meshwright::planner
