// SPDX-License-Identifier: Apache-2.0
// Published and measured serving points as `serve backtest` reads them, one a row (point_table.h).
// The header of a table names the columns (docs/reference/file-formats.md); those that are not
// there, and empty cells, are not stated. What a row must say and does not is assumed aloud, or the
// row is left out with its reason.
#pragma once

#include <map>
#include <string>

#include "interop/tables/csv.h"
#include "planner/serving/serving_backtest.h"

namespace meshwright::app {

// What the user states of all rows; it stands in place of their own words.
struct StatedService {
  std::string model{}, engine{};  // files or names; empty: as the rows say
  std::string engines{};          // a folder to take engine files from; empty: configs/engines
  std::map<std::string, std::string> cells{};      // by column
  std::map<std::string, std::string> otherwise{};  // cells of rows that do not state them
};

// Throws InputError where a stated model, cluster or engine is no file and no name.
planner::MeasuredServices points_in_table(const interop::CsvTable& table,
                                          const StatedService& stated);

// The same of a service that is known: load and measured values are the table's, the rest is the
// service's.
planner::MeasuredServices results_of_service(const interop::CsvTable& table,
                                             const planner::MeasuredService& service);

}  // namespace meshwright::app
