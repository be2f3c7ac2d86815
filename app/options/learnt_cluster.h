// SPDX-License-Identifier: Apache-2.0
// A cluster as its own runs show it: what plan --learn plans for.
#pragma once

#include <string>

#include "app/options/inputs.h"
#include "planner/search/search.h"
#include "reports/records/origin.h"

namespace meshwright::app {

// `path`: observations of trials, or a set of measured runs, of the inputs' cluster. Says what they
// taught. Throws InputError when no run can be learnt from.
Cluster learnt_cluster(const std::string& path, const Inputs& inputs,
                       const planner::SearchOptions& search, reports::Origin& origin);

}  // namespace meshwright::app
