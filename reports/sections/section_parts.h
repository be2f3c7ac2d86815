// SPDX-License-Identifier: Apache-2.0
// What several sections share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/records/report.h"

namespace meshwright::reports {

// Memory of each pipeline stage, and the rules that rejected layouts.
MemoryPart memory_of(const Estimate& estimate, const Model& model, const Device& device);
std::vector<RejectionRow> rejections_of(const planner::Plan& plan);

// Launch files as tabs where there is a script; one below the other where there is none.
std::string launch_tabs(const std::vector<LaunchFile>& files, std::string_view label);

// "GPU" or "core" as the report's devices are, with "s" for more than one.
std::string_view device_noun(const Report& report, std::int64_t count = 1);

}  // namespace meshwright::reports
