// SPDX-License-Identifier: Apache-2.0
// The page of a training and a service on one cluster: the decision, GPUs by hour as a static
// chart, the sizes that were compared, and the rules behind the answer.
#pragma once

#include <string>
#include <string_view>

#include "reports/records/shared_capacity.h"

namespace meshwright::reports {

// Subject and decision.
std::string shared_capacity_header(const SharedCapacityFile& file, std::string_view hash);
std::string shared_capacity_body(const SharedCapacityFile& file);
// Links to the sections of a body.
std::string shared_capacity_navigation(std::string_view body);
// GPUs of the row in front, stacked by hour; empty: no row fits.
std::string gpus_by_hour_chart(const SharedCapacity& capacity);

}  // namespace meshwright::reports
