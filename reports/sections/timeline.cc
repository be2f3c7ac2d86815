// SPDX-License-Identifier: Apache-2.0
// The winner's step on every stage, as meshwright estimate --trace draws it: compute, and beside it
// communication, to the step's end. Where there is more than a page can show, its begin and its
// end.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "reports/sections/sections_json.h"
#include "reports/step_trace.h"
#include "reports/text.h"
#include "sim/schedule/schedule.h"

namespace meshwright::reports {
namespace {

constexpr std::size_t kMostEvents = 4500;  // beyond, a page gets slow and a reader sees nothing
constexpr std::size_t kMostDrawnInstructions =
    100'000;                        // beyond, drawing takes longer than reading
constexpr double kHeadShare = 0.6;  // of the events, where the middle is left out
constexpr double kSeen = 2e-4;      // of the step: shorter work is no pixel wide

// Tenths of a microsecond are finer than any pixel, and short in the file.
double rounded(Seconds time) { return std::round(time.value() * 1e7) / 1e7; }

// "forward 3" is work of one kind on micro-batch 3; messages name their stages.
std::string work_of(const TraceSlice& slice) {
  if (slice.track == kPipelineMessages) return "message";
  std::string name = slice.name;
  const std::size_t space = name.rfind(' ');
  const bool numbered =
      space != std::string::npos && space + 1 < name.size() &&
      std::all_of(name.begin() + static_cast<std::ptrdiff_t>(space) + 1, name.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  if (numbered) name.resize(space);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

double number_of(const TraceSlice& slice, std::string_view name) {
  for (const auto& [key, value] : slice.numbers) {
    if (key == name) return value;
  }
  return -1.0;
}

struct Window {
  std::vector<const TraceSlice*> slices;
  Seconds head_end, tail_begin;  // nothing between them is shown; equal: everything is
};

Window window_of(const Trace& trace, Seconds end) {
  Window window;
  for (const TraceSlice& slice : trace.slices) {
    if (slice.end - slice.begin >= end * kSeen) window.slices.push_back(&slice);
  }
  auto& slices = window.slices;
  std::stable_sort(slices.begin(), slices.end(),
                   [](const TraceSlice* a, const TraceSlice* b) { return a->begin < b->begin; });
  if (slices.size() <= kMostEvents) return window;
  const auto head = static_cast<std::size_t>(kHeadShare * kMostEvents);
  const std::size_t tail = slices.size() - (kMostEvents - head);
  window.head_end = slices[head]->begin;
  window.tail_begin = slices[tail]->begin;
  slices.erase(slices.begin() + static_cast<std::ptrdiff_t>(head),
               slices.begin() + static_cast<std::ptrdiff_t>(tail));
  return window;
}

constexpr std::array kEventColumns{"stage", "begin_seconds", "end_seconds",
                                   "work",  "micro_batch",   "chunk"};

// `work` is a place in `works`.
Json events_of(const Window& window, std::vector<std::string>& works) {
  Json events = Json::array();
  for (const TraceSlice* slice : window.slices) {
    const std::string work = work_of(*slice);
    auto found = std::find(works.begin(), works.end(), work);
    if (found == works.end()) found = works.insert(works.end(), work);
    events.push_back({slice->process, rounded(slice->begin), rounded(slice->end),
                      found - works.begin(), static_cast<int>(number_of(*slice, "micro_batch")),
                      static_cast<int>(number_of(*slice, "chunk"))});
  }
  return events;
}

// Of the whole step, whatever is shown of it.
Json shares_of(const Trace& trace, int stages, Seconds end) {
  std::vector<double> compute(static_cast<std::size_t>(stages));
  std::vector<double> communication(static_cast<std::size_t>(stages));
  for (const TraceSlice& slice : trace.slices) {
    const auto stage = static_cast<std::size_t>(slice.process);
    const double share = (slice.end - slice.begin) / end;
    if (slice.track == kCompute || slice.track == kHost) compute[stage] += share;
    if (slice.track == kModelCommunication) communication[stage] += share;
  }
  Json shares = Json::array();
  for (std::size_t s = 0; s < compute.size(); ++s) {
    const double idle = std::max(0.0, 1.0 - compute[s] - communication[s]);
    shares.push_back(
        {{"compute", compute[s]}, {"communication", communication[s]}, {"idle", idle}});
  }
  return shares;
}

std::string sentence_of(const Window& window, const Layout& layout, int micro_batches) {
  std::string text = fmt::format("A step of {} micro-batches, {} schedule.", micro_batches,
                                 name_of(layout.schedule));
  if (window.head_end == window.tail_begin) return text;
  return text + fmt::format(
                    " Its begin and its end: from {} to {} the middle is left out, which repeats "
                    "what stands before it; meshwright estimate --trace writes all.",
                    seconds_text(window.head_end), seconds_text(window.tail_begin));
}

std::size_t instructions_of(const Layout& layout, int micro_batches) {
  return 2U * static_cast<std::size_t>(layout.pipeline_parallel_size) *
         static_cast<std::size_t>(layout.virtual_pipeline_parallel_size) *
         static_cast<std::size_t>(micro_batches);
}

Json empty_timeline(const Layout& layout, int micro_batches, const std::string& sentence) {
  return {{"schedule", name_of(layout.schedule)},
          {"stages", layout.pipeline_parallel_size},
          {"micro_batches", micro_batches},
          {"step_seconds", 0.0},
          {"left_out_seconds", {0.0, 0.0}},
          {"stage_shares", Json::array()},
          {"sentence", sentence},
          {"works", Json::array()},
          {"event_columns", kEventColumns},
          {"events", Json::array()}};
}

}  // namespace

Json timeline_section(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  const Estimate& best = plan.ranked.front();
  const Layout& layout = best.layout;
  if (layout.pipeline_parallel_size == 1) return {};
  const int micro_batches = num_micro_batches(plan.job.global_batch_size, layout);
  const std::size_t count = instructions_of(layout, micro_batches);
  if (count > kMostDrawnInstructions) {
    return empty_timeline(
        layout, micro_batches,
        fmt::format("{} micro-batches over {} stages of {} chunks are {} instructions, more than "
                    "a page can draw. meshwright estimate --trace writes them for a trace viewer.",
                    micro_batches, layout.pipeline_parallel_size,
                    layout.virtual_pipeline_parallel_size,
                    count_text(static_cast<std::int64_t>(count))));
  }
  const Trace trace = step_trace(plan, best);
  Seconds end = best.step_time;
  for (const TraceSlice& slice : trace.slices) end = std::max(end, slice.end);
  const Window window = window_of(trace, end);
  std::vector<std::string> works;
  Json json = empty_timeline(layout, micro_batches, sentence_of(window, layout, micro_batches));
  json["step_seconds"] = end.value();
  json["left_out_seconds"] = {rounded(window.head_end), rounded(window.tail_begin)};
  json["stage_shares"] = shares_of(trace, layout.pipeline_parallel_size, end);
  json["events"] = events_of(window, works);
  json["works"] = works;
  return json;
}

}  // namespace meshwright::reports
