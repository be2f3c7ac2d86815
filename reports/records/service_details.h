// SPDX-License-Identifier: Apache-2.0
// What a service plan says of its first choice beside latency and price, as a record.
#pragma once

#include "planner/serving/service_details.h"
#include "sim/record/record.h"

namespace meshwright::reports {

const Record<planner::ServiceDetails>& service_details_record();

}  // namespace meshwright::reports
