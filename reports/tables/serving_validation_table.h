// SPDX-License-Identifier: Apache-2.0
// Services that were run beside their predictions.
#pragma once

#include "planner/serving/serving_validation.h"
#include "reports/tables/table.h"

namespace meshwright::reports {

Table serving_validation_table(const planner::ServingValidation& validation);

}  // namespace meshwright::reports
