// SPDX-License-Identifier: Apache-2.0
#include "app/files/point_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/files/files.h"
#include "interop/serving/benchmark_table.h"
#include "sim/base/error.h"

namespace meshwright::app {

interop::CsvTable read_point_table(const std::string& path, reports::Origin* origin) {
  const std::string text = read_text_input("results", path, origin);
  // A line of SGLang's log begins with a bracket, as a list does.
  if (interop::looks_like_engine_log(text)) return interop::engine_log_table(text, path);
  if (interop::looks_like_benchmark_result(text)) return interop::benchmark_table(text, path);
  interop::CsvTable table = interop::read_csv(text, path);
  for (const char* column : {"model", "gpu", "engine", "load", "isl", "osl"}) {
    if (std::find(table.columns.begin(), table.columns.end(), column) == table.columns.end()) {
      throw InputError(path, "", fmt::format("has no column \"{}\"", column),
                       "docs/reference/file-formats.md lists the columns");
    }
  }
  return table;
}

}  // namespace meshwright::app
