// SPDX-License-Identifier: Apache-2.0
// The answer to a capacity question as JSON (reports/schema/capacity.schema.json): a record of its
// own (schema "meshwright.capacity/1"), and the part "capacity" of a plan.
#pragma once

#include <string>

#include "planner/capacity/capacity_answer.h"
#include "reports/origin_json.h"

namespace meshwright::reports {

inline constexpr std::string_view kCapacitySchema = "meshwright.capacity/1";

// `command`: `meshwright capacity` with what the question states, without GPU counts, cluster and
// batch: an entry's "options" behind it make that entry's numbers again.
Json capacity_to_json(const planner::CapacityAnswer& answer, const std::string& command);
// The whole record.
Json capacity_record(const planner::CapacityAnswer& answer, const Origin& origin,
                     const std::string& command);

}  // namespace meshwright::reports
