// SPDX-License-Identifier: Apache-2.0
#include "reports/trace/trace.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>

#include "sim/base/error.h"
#include "sim/record/record.h"

namespace meshwright::reports {
namespace {

std::int64_t nanoseconds(Seconds time) { return std::llround(time.value() * 1e9); }
double microseconds_of(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

// Event that names a process or one of its tracks.
struct NameEvent {
  int process = 0;
  int track = 0;  // from 1; 0: the process
  std::string name;
};

const Record<NameEvent>& name_event_record() {
  static const Record<NameEvent> record = [] {
    using R = NameEvent;
    const RowSchema name{.key = "name", .value = kind::text().schema(), .required = true};
    Record<R> r("What a process or a track is called.");
    r.derived("ph", {{"const", "M"}}, "", [](const R&) { return Json("M"); });
    r.derived("name", choice_schema({"process_name", "thread_name"}), "", [](const R& event) {
      return Json(event.track == 0 ? "process_name" : "thread_name");
    });
    r.row<&R::process>("pid", IntRange{.low = 0});
    r.row<&R::track>("tid", IntRange{.low = 0}, "From 1; 0 for a process.");
    r.derived("args", object_schema({name}, ""), "", [](const R& event) {
      return Json{{"name", event.name}};
    });
    return r.named("NameEvent").all_required();
  }();
  return record;
}

const Record<TraceSlice>& slice_record() {
  return described([](Record<TraceSlice>& r) {
    using R = TraceSlice;
    r.about("What a track does for a while.");
    r.derived("ph", {{"const", "X"}}, "", [](const R&) { return Json("X"); });
    r.row<&R::name>();
    r.row<&R::category>("cat", "");
    r.row<&R::process>("pid", IntRange{.low = 0});
    r.derived("tid", kind::integer().schema(), "", [](const R& s) { return Json(s.track + 1); });
    r.derived("ts", kind::number().schema(), "Begin, in microseconds.",
              [](const R& slice) { return Json(microseconds_of(nanoseconds(slice.begin))); });
    r.derived("dur", kind::number().schema(), "Microseconds.", [](const R& slice) {
      const std::int64_t begin = nanoseconds(slice.begin);
      return Json(microseconds_of(std::max(begin, nanoseconds(slice.end)) - begin));
    });
    r.row<&R::numbers>("args", kind::numbers_by_name()).written_if([](const R& slice) {
      return !slice.numbers.empty();
    });
    r.named("Slice").all_required();
  });
}

const Record<TraceCounter>& counter_record() {
  return described([](Record<TraceCounter>& r) {
    using R = TraceCounter;
    r.about("What is counted from a time on.");
    r.derived("ph", {{"const", "C"}}, "", [](const R&) { return Json("C"); });
    r.row<&R::name>();
    r.row<&R::process>("pid", IntRange{.low = 0});
    r.derived("ts", kind::number().schema(), "Microseconds.",
              [](const R& counter) { return Json(microseconds_of(nanoseconds(counter.time))); });
    r.row<&R::values>("args", kind::numbers_by_name());
    r.named("Counter").all_required();
  });
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
    lines.add(name_event_record().write({process.id, 0, process.name}));
    for (std::size_t t = 0; t < process.tracks.size(); ++t) {
      lines.add(
          name_event_record().write({process.id, static_cast<int>(t) + 1, process.tracks[t]}));
    }
  }
  for (const TraceSlice& slice : slices) lines.add(slice_record().write(slice));
  for (const TraceCounter& counter : trace.counters) lines.add(counter_record().write(counter));
  Json facts = Json::object();
  for (const auto& [name, value] : trace.facts) facts[name] = value;
  return "{\"displayTimeUnit\":\"ms\",\"otherData\":" +
         facts.dump(-1, ' ', false, Json::error_handler_t::replace) + ",\"traceEvents\":[\n" +
         lines.text() + "\n]}\n";
}

Json trace_schema(std::string_view title) {
  const Json facts{{"type", "object"},
                   {"required", {"schema"}},
                   {"properties", {{"schema", {{"const", kTraceSchema}}}}},
                   {"additionalProperties", {{"type", "string"}}}};
  const Json event{{"oneOf", Json::array({name_event_record().schema(), slice_record().schema(),
                                          counter_record().schema()})}};
  const std::vector<RowSchema> rows{
      {.key = "displayTimeUnit", .value = {{"const", "ms"}}, .required = true},
      {.key = "otherData", .value = facts, .about = "What made it, of what.", .required = true},
      {.key = "traceEvents", .value = {{"type", "array"}, {"items", event}}, .required = true}};
  return file_schema(
      title,
      object_schema(rows,
                    "A step as ui.perfetto.dev and chrome://tracing read it (Trace Event Format): "
                    "one process a pipeline stage, one track a stream, counters for memory. "
                    "Slices of one track do not overlap, which a schema cannot say."));
}

}  // namespace meshwright::reports
