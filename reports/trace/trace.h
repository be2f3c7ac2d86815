// SPDX-License-Identifier: Apache-2.0
// A trace in the Trace Event Format (JSON), as ui.perfetto.dev and chrome://tracing read it: slices
// on the tracks of processes, and counters. Times are microseconds there, to the nanosecond.
//
// Slices of one track must not overlap: the format's readers would show them wrongly.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/units.h"
#include "sim/record/json.h"

namespace meshwright::reports {

inline constexpr std::string_view kTraceSchema = "meshwright.trace/1";

using TraceNumbers = std::vector<std::pair<std::string, double>>;

struct TraceProcess {
  int id = 0;
  std::string name;
  std::vector<std::string> tracks;  // a slice names one by its index
};

struct TraceSlice {
  int process = 0;
  int track = 0;
  std::string name;
  std::string category;
  Seconds begin, end;
  TraceNumbers numbers;  // shown when the slice is chosen; names end in their unit
};

struct TraceCounter {
  int process = 0;
  std::string name;
  Seconds time;
  TraceNumbers values;  // one line each
};

struct Trace {
  std::vector<std::pair<std::string, std::string>> facts;  // command and inputs of the trace
  std::vector<TraceProcess> processes;
  std::vector<TraceSlice> slices;
  std::vector<TraceCounter> counters;
};

// One event a line. Throws std::logic_error when slices of a track overlap.
std::string trace_text(const Trace& trace);

// The JSON Schema of such a file.
Json trace_schema(std::string_view title);

}  // namespace meshwright::reports
