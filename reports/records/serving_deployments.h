// SPDX-License-Identifier: Apache-2.0
// Deployments of a service as records: the load on them, what runs, what its requests see and what
// their tokens cost.
#pragma once

#include "planner/serving/serving_search.h"
#include "sim/record/record.h"

namespace meshwright::reports {

const Record<ServingLoad>& serving_load_record();
// Means of the load, in closed form.
const Record<SteadyState>& steady_state_record();
// What the requests of a run saw.
const Record<ServingMetrics>& serving_metrics_record();
const Record<planner::Deployment>& deployment_record();
// A deployment under the load.
const Record<planner::ServingChoice>& serving_choice_record();

}  // namespace meshwright::reports
