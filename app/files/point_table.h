// SPDX-License-Identifier: Apache-2.0
// A table of serving points, a result of a benchmark client or an engine's log as one table.
#pragma once

#include <string>

#include "interop/tables/csv.h"
#include "reports/records/origin.h"

namespace meshwright::app {

// Throws InputError.
interop::CsvTable read_point_table(const std::string& path, reports::Origin* origin = nullptr);

}  // namespace meshwright::app
