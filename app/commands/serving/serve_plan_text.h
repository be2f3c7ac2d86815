// SPDX-License-Identifier: Apache-2.0
// What meshwright serve says first: the question, and its best deployment or the nearest one.
#pragma once

#include <string>

#include "planner/serving/serving_search.h"

namespace meshwright::app {

// Lines.
std::string serving_plan_summary(const planner::ServingQuestion& q,
                                 const planner::ServingPlan& plan);

}  // namespace meshwright::app
