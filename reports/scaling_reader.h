// SPDX-License-Identifier: Apache-2.0
// The answer "scaling" of a plan's file, back as a record.
#pragma once

#include "planner/questions/scaling.h"
#include "sim/record/reader.h"

namespace meshwright::reports {

// Throws InputError.
planner::Scaling scaling_from_json(ObjectReader reader);

}  // namespace meshwright::reports
