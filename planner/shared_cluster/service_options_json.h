// SPDX-License-Identifier: Apache-2.0
// The part "service" of a job file as JSON.
#pragma once

#include <optional>
#include <string>

#include "planner/shared_cluster/service_options.h"
#include "sim/record/json.h"
#include "sim/record/record.h"

namespace meshwright::planner {

const Record<ServiceOptions>& service_record();

// `job`: the whole job file, or null. Nothing: it holds no service. Throws InputError.
std::optional<ServiceOptions> service_section(const Json& job, const std::string& file);

}  // namespace meshwright::planner
