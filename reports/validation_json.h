// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured, as a file (schema "meshwright.validation/1").
#pragma once

#include "planner/accuracy/validation.h"
#include "reports/origin_json.h"
#include "sim/json/records.h"

namespace meshwright::reports {

inline constexpr std::string_view kValidationSchema = "meshwright.validation/1";

Json validation_to_json(const planner::Validation& validation);
Json validation_to_json(const planner::Validation& validation, const Origin& origin);

}  // namespace meshwright::reports
