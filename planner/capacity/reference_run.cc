// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/reference_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/search/training_cost.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

RowKey asked_key(const CapacityQuestion& question, const CapacityRow& row) {
  return {row.cluster_case, row.gpus, row.asked_batch_size,
          fmt::format("{}", fmt::join(question.what_ifs, ",")), row.scheduled};
}

// The row with the reference's layout and the batch of most tokens; smaller batches of a schedule
// had other layouts. It ran, so it fitted, whatever its memory is predicted to be.
CapacityRow in_layout(const CapacityQuestion& question, const CapacityRow& row,
                      const StatedLayout& layout) {
  CapacityQuestion fixed = question;
  fixed.layouts = {layout};
  constexpr double kAnyMemory = 100.0;  // times what there is
  only_device(fixed.clusters[row.cluster_case].cluster).memory *= kAnyMemory;
  LayoutFinder finder(fixed);
  RowKey key = asked_key(fixed, row);
  key.scheduled = false;
  key.global_batch_size = row.global_batch_size;
  finder.find(searches_of(fixed, key));
  return row_of(fixed, key, finder);
}

// The row as it would be with one batch for all tokens, or with the schedule.
CapacityRow other_batches(const CapacityQuestion& question, const CapacityRow& row,
                          LayoutFinder& finder) {
  RowKey key = asked_key(question, row);
  key.scheduled = !row.scheduled;
  key.global_batch_size = question.options.schedule.back().global_batch_size;
  finder.find(searches_of(question, key));
  return row_of(question, key, finder);
}

// Turns one thing after the other, and keeps where it stands.
struct Walk {
  const CapacityRow& row;
  const ReferenceRun& reference;
  std::vector<ReferencePart> parts{};
  std::optional<CapacityRow> scheduled{};  // in the place of the row, once batches are turned
  double now = 0.0;                        // GPU-hours
  Seconds predicted{};                     // a step of the layout that is in place
  double goodput = 1.0;

  [[nodiscard]] const CapacityRow& from() const { return scheduled ? *scheduled : row; }
  void to(const char* name, std::string sentence, double hours) {
    parts.push_back({name, std::move(sentence), hours - now, hours / now});
    now = hours;
  }
};

// At the predicted inputs, without their ranges.
double predicted_hours(const CapacityRow& row) {
  return row.gpus * row.run.time.elapsed.value() / kSecondsPerHour;
}

// Ranges that reach further up than down move the median above the prediction.
void turn_ranges(Walk& walk) {
  walk.to("ranges", "the median has the ranges of all inputs; the run is one case without them",
          predicted_hours(walk.row));
}

void turn_batches(Walk& walk, const CapacityQuestion& question, CapacityRow scheduled) {
  if (!scheduled.fits()) return;
  std::string phases;
  for (const BatchPhase& phase : question.options.schedule) {
    append_to_list(phases, ", then ",
                   fmt::format("{} x {}", phase.global_batch_size, phase.seq_length));
  }
  const double hours = predicted_hours(scheduled);
  walk.scheduled = std::move(scheduled);
  walk.to(
      "batches by phase",
      fmt::format("the run had batches of {} tokens per sequence, this row has {} for all tokens",
                  phases, walk.row.global_batch_size),
      hours);
}

void turn_layout(Walk& walk, const CapacityQuestion& question) {
  if (!question.reference_layout) return;
  const CapacityRow theirs = in_layout(question, walk.from(), *question.reference_layout);
  const std::string name = brief_name(question.reference_layout->layout);
  if (!theirs.fits()) {
    walk.to("layout", fmt::format("their layout {} does not run here: {}", name, theirs.reason),
            walk.now);
    return;
  }
  const Estimate& mine = walk.from().main_phase().estimate;
  const Estimate& other = theirs.main_phase().estimate;
  const Bytes memory = only_device(question.clusters[walk.row.cluster_case].cluster).memory;
  walk.to(
      "layout",
      fmt::format("their layout, {}, is predicted to take {} s per step; the best found, {}, {} "
                  "s (theirs {:+.1f} %). Predicted memory of theirs: {:.0f} % of the device",
                  brief_name(other.layout), number_text(other.step_time.value()),
                  brief_name(mine.layout), number_text(mine.step_time.value()),
                  (mine.step_time / other.step_time - 1.0) * 100.0,
                  other.peak_memory() / memory * 100.0),
      walk.now * (other.step_time / mine.step_time));
  walk.predicted = other.step_time;
}

void turn_step(Walk& walk) {
  if (!walk.reference.step_seconds) return;
  const double ratio = *walk.reference.step_seconds / walk.predicted.value();
  walk.to(
      "step",
      fmt::format("measured: {} s per step; predicted: {} s. The prediction is {:.1f} % {}, one "
                  "error common to all steps",
                  number_text(*walk.reference.step_seconds), number_text(walk.predicted.value()),
                  std::abs(1.0 / ratio - 1.0) * 100.0, ratio >= 1.0 ? "short" : "long"),
      walk.now * ratio);
}

void turn_goodput(Walk& walk) {
  if (!walk.reference.goodput) return;
  const double theirs = *walk.reference.goodput;
  walk.to("goodput",
          fmt::format("stated goodput {:.1f} %, predicted {:.1f} %", theirs * 100.0,
                      walk.goodput * 100.0),
          walk.now * walk.goodput / theirs);
}

}  // namespace

std::optional<ReferenceComparison> reference_of(const CapacityQuestion& question,
                                                const std::vector<CapacityRow>& rows,
                                                LayoutFinder& finder) {
  const std::optional<ReferenceRun>& reference = question.options.reference;
  if (!reference || !question.train_tokens) return std::nullopt;
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const CapacityRow& row) {
    return row.fits() && row.gpus == reference->gpus;
  });
  if (found == rows.end()) return std::nullopt;
  ReferenceComparison comparison;
  comparison.row = static_cast<std::size_t>(found - rows.begin());
  comparison.gpu_hours = found->run.gpu_hours.p50;
  Walk walk{*found, *reference};
  walk.now = comparison.gpu_hours;
  turn_ranges(walk);
  if (question.options.schedule.size() > 1) {
    CapacityRow other = other_batches(question, *found, finder);
    if (found->scheduled) {
      if (other.fits()) {
        comparison.schedule_gpu_hours = predicted_hours(*found) - predicted_hours(other);
      }
    } else {
      turn_batches(walk, question, std::move(other));
    }
  }
  walk.predicted = found->main_phase().estimate.step_time;
  walk.goodput = found->run.time.goodput();
  turn_layout(walk, question);
  turn_step(walk);
  turn_goodput(walk);
  walk.to("unexplained", "what is left", reference->gpu_hours);
  comparison.parts = std::move(walk.parts);
  return comparison;
}

}  // namespace meshwright::planner
