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

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "reports/trace/step_trace.h"
#include "sim/schedule/schedule.h"

namespace meshwright::reports {
namespace {

const Record<StageShares>& stage_shares_record() {
  return described([](Record<StageShares>& r) {
    using R = StageShares;
    r.about("Shares of a stage's step.");
    r.rows<&R::compute, &R::communication, &R::idle>();
    r.named("StageShares").all_required();
  });
}

constexpr std::array kEventColumns{"stage", "begin_seconds", "end_seconds",
                                   "work",  "micro_batch",   "chunk"};

// Each a row of numbers, as the columns say: a step has thousands.
Kind<std::vector<TimelineWork>> event_rows() {
  using Events = std::vector<TimelineWork>;
  const auto rows = kind::number_rows(kEventColumns.size());
  return {{.read =
               [rows](ObjectReader& reader, const std::string& key, Events& events) {
                 std::vector<std::vector<double>> read;
                 rows.read(reader, key, read);
                 events.clear();
                 for (const std::vector<double>& row : read) {
                   const auto whole = [&row](std::size_t column) {
                     return static_cast<int>(std::clamp(row[column], -1.0, 1e9));
                   };
                   events.push_back({whole(0), row[1], row[2], whole(3), whole(4), whole(5)});
                 }
               },
           .write =
               [](Json& json, const std::string& key, const Events& events) {
                 Json& list = json[key] = Json::array();
                 for (const TimelineWork& e : events) {
                   list.push_back({e.stage, e.begin, e.end, e.work, e.micro_batch, e.chunk});
                 }
               },
           .schema = [rows] { return rows.schema(); }}};
}

const Record<TimelinePart>& timeline_record() {
  return described([](Record<TimelinePart>& r) {
    using R = TimelinePart;
    r.about("What each stage does when, of the best layout's step.");
    r.row<&R::schedule>(kPipelineScheduleNames);
    r.rows<&R::stages, &R::micro_batches, &R::step>();
    r.row<&R::left_out>("left_out_seconds", kNotNegative,
                        "Nothing between the two is in the events; equal: everything is.");
    r.row<&R::stage_shares>(stage_shares_record);
    r.rows<&R::sentence, &R::works>();
    r.derived("event_columns", kind::texts().schema(), "", [](const R&) { return kEventColumns; });
    r.row<&R::events>(event_rows(), "Rows of numbers; a work is a place in the works.");
    r.named("Timeline").all_required();
  });
}

void timeline_rows(Record<Report>& r) { r.row<&Report::timeline>(nullable(timeline_record)); }

constexpr std::size_t kMostEvents = 4500;  // beyond, a page gets slow and a reader sees nothing
constexpr std::size_t kMostDrawnInstructions =
    100'000;                        // beyond, drawing takes longer than reading
constexpr double kHeadShare = 0.6;  // of the events, where the middle is left out
constexpr double kSeen = 2e-4;      // of the step: shorter work is no pixel wide

// Microseconds are finer than any pixel, and short in the file.
double rounded(Seconds time) { return std::round(time.value() * 1e6) / 1e6; }

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

std::vector<TimelineWork> events_of(const Window& window, std::vector<std::string>& works) {
  std::vector<TimelineWork> events;
  for (const TraceSlice* slice : window.slices) {
    const std::string work = work_of(*slice);
    auto found = std::find(works.begin(), works.end(), work);
    if (found == works.end()) found = works.insert(works.end(), work);
    events.push_back({.stage = slice->process,
                      .begin = rounded(slice->begin),
                      .end = rounded(slice->end),
                      .work = static_cast<int>(found - works.begin()),
                      .micro_batch = static_cast<int>(number_of(*slice, "micro_batch")),
                      .chunk = static_cast<int>(number_of(*slice, "chunk"))});
  }
  return events;
}

constexpr double kSeenBubble = 5e-3;  // of the step: shorter waits are no bubble that is seen

// When a stage runs nothing: neither compute nor communication of its own. Only what the window
// shows, and `work` is the place of bubbles among the works.
std::vector<TimelineWork> bubbles_of(const Trace& trace, int stages, Seconds end,
                                     const Window& window, int work) {
  std::vector<std::vector<const TraceSlice*>> busy(static_cast<std::size_t>(stages));
  for (const TraceSlice& slice : trace.slices) {
    if (slice.track == kPipelineMessages) continue;
    busy[static_cast<std::size_t>(slice.process)].push_back(&slice);
  }
  std::vector<TimelineWork> bubbles;
  const auto add = [&](int stage, Seconds from, Seconds to) {
    if (to - from < end * kSeenBubble) return;
    bubbles.push_back({.stage = stage, .begin = rounded(from), .end = rounded(to), .work = work});
  };
  const bool broken = window.head_end != window.tail_begin;
  for (int stage = 0; stage < stages; ++stage) {
    auto& slices = busy[static_cast<std::size_t>(stage)];
    std::stable_sort(slices.begin(), slices.end(),
                     [](const TraceSlice* a, const TraceSlice* b) { return a->begin < b->begin; });
    const auto add_shown = [&](Seconds from, Seconds to) {
      if (!broken) return add(stage, from, to);
      add(stage, from, std::min(to, window.head_end));
      add(stage, std::max(from, window.tail_begin), to);
    };
    Seconds idle_from;
    for (const TraceSlice* slice : slices) {
      add_shown(idle_from, slice->begin);
      idle_from = std::max(idle_from, slice->end);
    }
    add_shown(idle_from, end);
  }
  return bubbles;
}

// Shares of the whole step, even if only a part is shown.
std::vector<StageShares> shares_of(const Trace& trace, int stages, Seconds end) {
  std::vector<StageShares> shares(static_cast<std::size_t>(stages));
  for (const TraceSlice& slice : trace.slices) {
    StageShares& stage = shares[static_cast<std::size_t>(slice.process)];
    const double share = (slice.end - slice.begin) / end;
    if (slice.track == kCompute || slice.track == kHost) stage.compute += share;
    if (slice.track == kModelCommunication) stage.communication += share;
  }
  for (StageShares& stage : shares) {
    stage.idle = std::max(0.0, 1.0 - stage.compute - stage.communication);
  }
  return shares;
}

std::string sentence_of(const Window& window, const Layout& layout, int micro_batches) {
  std::string text = fmt::format("A step of {} micro-batches, {} schedule.", micro_batches,
                                 name_of(layout.schedule));
  if (window.head_end == window.tail_begin) return text;
  return text + fmt::format(
                    " Start and end of the step; the repeating part from {} to {} is omitted. "
                    "meshwright estimate --trace writes all of it.",
                    seconds_text(window.head_end), seconds_text(window.tail_begin));
}

std::size_t instructions_of(const Layout& layout, int micro_batches) {
  return 2U * static_cast<std::size_t>(layout.pipeline_parallel_size) *
         static_cast<std::size_t>(layout.virtual_pipeline_parallel_size) *
         static_cast<std::size_t>(micro_batches);
}

void fill_timeline(Report& report, const ReportContents& contents) {
  const planner::Plan& plan = contents.plan;
  if (plan.ranked.empty()) return;
  const Estimate& best = plan.ranked.front();
  const Layout& layout = best.layout;
  if (layout.pipeline_parallel_size == 1) return;
  TimelinePart& timeline = report.timeline.emplace();
  timeline.schedule = layout.schedule;
  timeline.stages = layout.pipeline_parallel_size;
  timeline.micro_batches = num_micro_batches(plan.job.global_batch_size, layout);
  const std::size_t count = instructions_of(layout, timeline.micro_batches);
  if (count > kMostDrawnInstructions) {
    timeline.sentence = fmt::format(
        "{} micro-batches over {} stages of {} chunks are {} instructions, more than "
        "a page can draw. meshwright estimate --trace writes them for a trace viewer.",
        timeline.micro_batches, layout.pipeline_parallel_size,
        layout.virtual_pipeline_parallel_size, count_text(static_cast<std::int64_t>(count)));
    return;
  }
  const Trace trace = step_trace(plan, best);
  Seconds end = best.step_time;
  for (const TraceSlice& slice : trace.slices) end = std::max(end, slice.end);
  const Window window = window_of(trace, end);
  timeline.sentence = sentence_of(window, layout, timeline.micro_batches);
  timeline.step = end;
  timeline.left_out = {rounded(window.head_end), rounded(window.tail_begin)};
  timeline.stage_shares = shares_of(trace, timeline.stages, end);
  timeline.events = events_of(window, timeline.works);
  const auto bubble = static_cast<int>(timeline.works.size());
  const std::vector<TimelineWork> bubbles = bubbles_of(trace, timeline.stages, end, window, bubble);
  if (bubbles.empty()) return;
  timeline.works.emplace_back("pipeline_bubble");
  timeline.events.insert(timeline.events.end(), bubbles.begin(), bubbles.end());
}

std::string timeline_page(const Report& report) {
  if (!report.timeline) return "";
  const TimelinePart& timeline = *report.timeline;
  if (timeline.events.empty()) {
    return html::section(
        "timeline", "The pipeline's timeline",
        fmt::format("<p class=\"notice\">{}</p>\n", html::escape(timeline.sentence)));
  }
  html::TableRows rows;
  for (const StageShares& share : timeline.stage_shares) {
    rows.push_back({fmt::format("{}", rows.size()), fmt::format("{:.1f}", share.compute * 100.0),
                    fmt::format("{:.1f}", share.communication * 100.0),
                    fmt::format("{:.1f}", share.idle * 100.0)});
  }
  return html::section(
      "timeline", "The pipeline's timeline",
      html::paragraph(timeline.sentence) +
          html::figure(
              "timeline",
              "What each pipeline stage does when: compute above, communication below it. The "
              "axis ends with the step. Bubbles are grey. Zoom with the buttons, or with Ctrl and "
              "the wheel.") +
          html::numbers("Shares of the step of each stage", html::table("Shares of the whole step",
                                                                        {{"stage", true},
                                                                         {"compute, %", true},
                                                                         {"communication, %", true},
                                                                         {"waiting, %", true}},
                                                                        rows)));
}

}  // namespace

extern const ReportSection kTimelineSection;
constexpr ReportSection kTimelineSection{.rows = timeline_rows,
                                         .fill = fill_timeline,
                                         .page = timeline_page,
                                         .id = "timeline",
                                         .word = "Timeline",
                                         .charts = "timeline"};

}  // namespace meshwright::reports
