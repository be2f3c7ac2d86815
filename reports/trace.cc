// SPDX-License-Identifier: Apache-2.0
#include "reports/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "sim/base/error.h"
#include "sim/json/records.h"

namespace meshwright::reports {
namespace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }
double microseconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

Json object_of(const TraceNumbers& numbers) {
  Json json = Json::object();
  for (const auto& [name, value] : numbers) json[name] = value;
  return json;
}

Json name_event(std::string_view kind, int process, int track, const std::string& name) {
  return {
      {"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", track}, {"args", {{"name", name}}}};
}

Json slice_event(const TraceSlice& slice) {
  const std::int64_t begin = nanoseconds(slice.begin);
  const std::int64_t end = std::max(begin, nanoseconds(slice.end));
  Json json{{"ph", "X"},
            {"name", slice.name},
            {"cat", slice.category},
            {"pid", slice.process},
            {"tid", slice.track + 1},
            {"ts", microseconds_of(begin)},
            {"dur", microseconds_of(end - begin)}};
  if (!slice.numbers.empty()) json["args"] = object_of(slice.numbers);
  return json;
}

void check_tracks(const std::vector<TraceSlice>& sorted) {
  std::map<std::pair<int, int>, std::int64_t> ends;
  for (const TraceSlice& slice : sorted) {
    std::int64_t& end = ends[{slice.process, slice.track}];
    invariant(nanoseconds(slice.begin) >= end, "slices of a trace's track overlap");
    end = std::max(end, nanoseconds(slice.end));
  }
}

class Lines {
 public:
  void add(const Json& event) {
    text_ += text_.empty() ? "" : ",\n";
    text_ += event.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

std::string trace_text(const Trace& trace) {
  std::vector<TraceSlice> slices = trace.slices;
  std::stable_sort(slices.begin(), slices.end(), [](const TraceSlice& a, const TraceSlice& b) {
    return nanoseconds(a.begin) < nanoseconds(b.begin);
  });
  check_tracks(slices);
  Lines lines;
  for (const TraceProcess& process : trace.processes) {
    lines.add(name_event("process_name", process.id, 0, process.name));
    for (std::size_t t = 0; t < process.tracks.size(); ++t) {
      lines.add(name_event("thread_name", process.id, static_cast<int>(t) + 1, process.tracks[t]));
    }
  }
  for (const TraceSlice& slice : slices) lines.add(slice_event(slice));
  for (const TraceCounter& counter : trace.counters) {
    lines.add({{"ph", "C"},
               {"name", counter.name},
               {"pid", counter.process},
               {"ts", microseconds_of(nanoseconds(counter.time))},
               {"args", object_of(counter.values)}});
  }
  Json facts = Json::object();
  for (const auto& [name, value] : trace.facts) facts[name] = value;
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
         facts.dump(-1, ' ', false, Json::error_handler_t::replace) + ",\"traceEvents\":[\n" +
         lines.text() + "\n]}\n";
}

}  // namespace meshwright::reports
