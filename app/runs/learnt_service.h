// SPDX-License-Identifier: Apache-2.0
// An engine as results of its user's benchmarks show it: what serve --learn plans with.
#pragma once

#include <map>
#include <string>

#include "planner/serving/serving_learning.h"
#include "planner/serving/serving_search.h"
#include "reports/records/origin.h"

namespace meshwright::app {

struct ServiceLearningOptions {
  std::string results;                 // a table of points, or a benchmark client's file
  std::string launch;                  // of the service that was measured; empty: the rows say it
  std::string model, cluster, engine;  // as the user named them
  std::string weights, kv_cache;       // of rows that do not state them; weights: of launches, too
  std::map<std::string, std::string> sizes;  // "tp": "4", of rows that do not state them
};
// Rows about another model, GPU or version of the engine are left out with their reason. Throws
// InputError where nothing can be learnt.
planner::ServingLearning learnt_service(const ServiceLearningOptions& options,
                                        const ServingScenario& scenario, reports::Origin& origin);

// "Learnt from 4 configurations of FILE: ..."
std::string learning_text(const planner::ServingLearning& learning, const std::string& results);

}  // namespace meshwright::app
