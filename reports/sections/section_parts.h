// SPDX-License-Identifier: Apache-2.0
// What several sections share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "reports/records/report.h"

namespace meshwright::reports {

// "tensor_parallel_communication" as people say it.
std::string spoken(std::string_view name);

// "GPU" or "core" as the report's devices are, with "s" for more than one.
std::string_view device_noun(const Report& report, std::int64_t count = 1);

}  // namespace meshwright::reports
