// SPDX-License-Identifier: Apache-2.0
// A training and a service on one cluster, as sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/shared_cluster/shared_capacity.h"

namespace meshwright::reports {

// "16 to 64", or "64": least and most of the hours, which are one or more.
std::string span_of_hours(const std::vector<planner::SharedHour>& hours,
                          int planner::SharedHour::*gpus, std::string_view between);
// "Reserve 96 GPUs of ...: ..."; where no size does both, that.
std::string shared_headline(const planner::SharedAnswer& answer);
// The row in front: what serves, what trains, days, cost; the smallest cluster.
std::string shared_verdict(const planner::SharedAnswer& answer);
// By which rules the GPUs are shared.
std::vector<std::string> shared_rules(const planner::SharedAnswer& answer);
// Values that the job does not state.
std::vector<std::string> shared_assumptions(const planner::SharedAnswer& answer);
std::vector<std::string> left_out_of_sharing(const planner::SharedAnswer& answer);

}  // namespace meshwright::reports
