// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/schedule/schedule.h"
#include "sim/step/pipeline.h"
#include "sim/step/terms.h"

namespace meshwright::reports {
namespace {

constexpr std::size_t kMostEvents = 6000;  // beyond, a page gets slow and a reader sees nothing

std::string_view pass_name(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return "forward";
    case Pass::backward:
      return "backward";
    case Pass::backward_input:
      return "backward_input";
    case Pass::backward_weight:
      break;
  }
  return "backward_weight";
}

// Enough to see warm-up, steady state and drain: twice as many micro-batches as stages. A multiple
// of the stages, as interleaving and dualpipe need it.
int shown_micro_batches(const Layout& layout, int micro_batches) {
  return std::min(micro_batches, 2 * layout.pipeline_parallel_size);
}

PipelineTimes pipeline_times(const planner::Plan& plan, const Estimate& best, int micro_batches) {
  CostTable table(plan.model, plan.cluster, plan.job);
  PipelineTimes times = pipeline_of(table, best.layout).times;
  // The step waits for one message forward and one backward, a micro-batch and chunk.
  const Cost& messages =
      best.terms[static_cast<std::size_t>(TermKind::pipeline_communication)].cost;
  times.send = messages.time / (2.0 * micro_batches * best.layout.virtual_pipeline_parallel_size);
  return times;
}

// Tenths of a microsecond are finer than any pixel, and short in the file.
double rounded(Seconds time) { return std::round(time.value() * 1e7) / 1e7; }

Json events_of(const Timeline& timeline) {
  Json events = Json::array();
  for (const TimelineEvent& e : timeline.events) {
    events.push_back({e.stage, rounded(e.begin), rounded(e.end), pass_name(e.instruction.pass),
                      e.instruction.micro_batch, e.instruction.chunk});
  }
  return events;
}

constexpr std::array kEventColumns{"stage", "begin_seconds", "end_seconds",
                                   "work",  "micro_batch",   "chunk"};

// A notice in place of a picture.
Json too_many_events(const Layout& layout, int all, int shown, std::size_t count) {
  return {
      {"schedule", name_of(layout.schedule)},
      {"stages", layout.pipeline_parallel_size},
      {"micro_batches", all},
      {"micro_batches_shown", 0},
      {"total_seconds", 0.0},
      {"busy_share", Json::array()},
      {"sentence",
       fmt::format("{} of {} micro-batches over {} stages of {} chunks are {} pieces of "
                   "work, more than a page can show ({}). meshwright estimate --trace writes "
                   "them all, for a trace viewer.",
                   shown, all, layout.pipeline_parallel_size, layout.virtual_pipeline_parallel_size,
                   count_text(static_cast<std::int64_t>(count)),
                   count_text(static_cast<std::int64_t>(kMostEvents)))},
      {"event_columns", kEventColumns},
      {"events", Json::array()}};
}

}  // namespace

Json timeline_section(const planner::Plan& plan) {
  if (plan.ranked.empty()) return {};
  const Estimate& best = plan.ranked.front();
  const Layout& layout = best.layout;
  if (layout.pipeline_parallel_size == 1) return {};
  const int all = num_micro_batches(plan.job.global_batch_size, layout);
  const int shown = shown_micro_batches(layout, all);
  const auto programs = pipeline_programs(layout.schedule, layout.pipeline_parallel_size, shown,
                                          layout.virtual_pipeline_parallel_size);
  std::size_t count = 0;
  for (const StageProgram& program : programs) count += program.size();
  if (count > kMostEvents) return too_many_events(layout, all, shown, count);
  const Timeline timeline =
      simulate(layout.schedule, programs, pipeline_times(plan, best, all), true);
  Json busy = Json::array();
  for (const Seconds b : timeline.busy) busy.push_back(b / timeline.total);
  const std::string sentence =
      shown == all ? fmt::format("All {} micro-batches of a step, {} schedule.", all,
                                 name_of(layout.schedule))
                   : fmt::format(
                         "The first {} of {} micro-batches, {} schedule; the others repeat the "
                         "middle part, so the idle share of a whole step is smaller than it looks.",
                         shown, all, name_of(layout.schedule));
  return {{"schedule", name_of(layout.schedule)},
          {"stages", layout.pipeline_parallel_size},
          {"micro_batches", all},
          {"micro_batches_shown", shown},
          {"total_seconds", timeline.total.value()},
          {"busy_share", std::move(busy)},
          {"sentence", sentence},
          {"event_columns", kEventColumns},
          {"events", events_of(timeline)}};
}

}  // namespace meshwright::reports
