// SPDX-License-Identifier: Apache-2.0
// Makes a set of measured runs ("meshwright.measurements/1") from a table and a column map:
//
//   {"name": ..., "source": ..., "assumed": ...,
//    "constants": {"/cluster": "h100-512", "/job/precision": "bf16"},
//    "columns": {"/layout/tensor_parallel_size": "tp",
//                "/measured/step_seconds": {"column": "ms", "scale": 0.001},
//                "/measured/status": {"column": "state", "values": {"OOM": "oom", "done": "ok"}},
//                "/group": {"join": ["model", "gpus"]}}}
//
// Keys are JSON pointers into one run. A cell that reads as a number, true or false becomes one; an
// empty cell leaves its field out. Absent: /id is the row's number, /group the model and the GPUs,
// /measured/status "ok".
#pragma once

#include <string>
#include <vector>

#include "interop/tables/csv.h"
#include "sim/record/json.h"

namespace meshwright::interop {

struct ConvertedTable {
  Json set;                         // with "left_out", where a row cannot be read
  std::vector<std::string> places;  // of each run in the table: "row 2, line 3"
};

// Converts the rows of a table. A row is skipped, with its place and reason, if it has another
// number of cells than the header, a cell that its "values" do not list, or a cell to be scaled
// that is no number. Throws InputError for an unknown column, another mistake of the map, or a
// table without a readable row.
ConvertedTable measurements_from_csv(const CsvTable& table, const std::string& table_file,
                                     const Json& map, const std::string& map_file);

}  // namespace meshwright::interop
