// SPDX-License-Identifier: Apache-2.0
// A table of published serving points, one a row, as `serve backtest` reads it. The header names
// the columns (docs/reference/file-formats.md); those that are not there, and empty cells, are not
// stated. What a row must say and does not is assumed aloud, or the row is left out with its
// reason.
#pragma once

#include <string>

#include "planner/serving/serving_backtest.h"

namespace meshwright::app {

// `engines`: a folder to take engine files from instead of configs/engines; empty: those.
planner::MeasuredServices load_serving_points(const std::string& path, const std::string& engines);

}  // namespace meshwright::app
