// SPDX-License-Identifier: Apache-2.0
// Results of benchmark clients and logs of inference engines as rows of the table that
// `serve backtest` reads (docs/reference/file-formats.md):
//   vllm bench serve --save-result      JSON, an object; times in milliseconds
//   sglang.bench_serving --output-file  JSON lines, an object a run; milliseconds
//   aiperf, genai-perf                  JSON, a metric each with its unit
//   InferenceX                          JSON, an object or a list of them; seconds
//   an engine's log                     the engine's arguments and the tokens of its cache
// A cell is empty where the file does not say it. The column "assumed" names what a reader took for
// granted, separated by "; ".
#pragma once

#include <string>
#include <string_view>

#include "interop/tables/csv.h"

namespace meshwright::interop {

// Tells whether the text is a result in JSON: an object or a list.
bool looks_like_benchmark_result(std::string_view text);
// Throws InputError: not JSON, no known result, a value of the wrong kind. Python's Infinity and
// NaN, which are no JSON, count as "inf" and as absent.
CsvTable benchmark_table(const std::string& text, const std::string& file);

// Tells whether the text is a log that says the tokens of a cache.
bool looks_like_engine_log(std::string_view text);
// One row. Throws InputError: the log does not say how many tokens the cache holds.
CsvTable engine_log_table(const std::string& text, const std::string& file);

// The table as CSV, without columns that no row fills and that a reader does not ask for.
std::string csv_text(const CsvTable& table);

}  // namespace meshwright::interop
