// SPDX-License-Identifier: Apache-2.0
#include "reports/records/plan_diff.h"

#include <fmt/format.h>

#include "reports/records/plan_file.h"
#include "sim/base/error.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::InputChange>& input_change_record() {
  static const Record<planner::InputChange> record = [] {
    using R = planner::InputChange;
    Record<R> r("A value of the plans' inputs.");
    r.row(&R::pointer, "pointer", kind::text(), "A JSON pointer into the plan.");
    r.row(&R::before, "before", kind::text(), "Empty: it is not there.");
    r.row(&R::after, "after", kind::text(), "");
    return r.named("InputChange").all_required();
  }();
  return record;
}

const Record<DiffPlace>& diff_place_record() {
  static const Record<DiffPlace> record = [] {
    using R = DiffPlace;
    Record<R> r("Where a layout is in a ranking.");
    r.row(&R::rank, "rank", kind::integer(), "From 1.");
    r.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "");
    r.row(&R::peak_memory, "peak_memory_bytes", kind::base_amount<Bytes>(), "");
    return r.named("DiffPlace").all_required();
  }();
  return record;
}

const Record<DiffLayout>& diff_layout_record() {
  static const Record<DiffLayout> record = [] {
    using R = DiffLayout;
    Record<R> r("A layout of either ranking.");
    r.row(&R::short_name, "short_name", kind::text(), "");
    r.row(&R::before, "before", kind::nullable(kind::object(diff_place_record)),
          "Null: it is not ranked there.");
    r.row(&R::after, "after", kind::nullable(kind::object(diff_place_record)), "");
    return r.named("DiffLayout").all_required();
  }();
  return record;
}

std::optional<DiffPlace> diff_place(const std::optional<std::size_t>& rank,
                                    const std::optional<planner::RankedLayout>& ranked) {
  if (!rank) return std::nullopt;
  return DiffPlace{static_cast<int>(*rank) + 1, ranked->step_time, ranked->peak_memory};
}

void add_inputs(planner::PlanSide& side, const Json& json, const std::string& key) {
  const auto section = json.find(key);
  if (section == json.end() || !section->is_object()) return;
  const Json flat = section->flatten();
  for (const auto& [pointer, value] : flat.items()) {
    side.inputs["/" + key + pointer] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

// A plan without the numbers that it was made with cannot be compared.
void require_number(double value, const std::string& file, std::size_t place,
                    std::string_view key) {
  if (value > 0.0) return;
  throw InputError(file, fmt::format("/ranked/{}/{}", place, key), "is required and missing");
}

}  // namespace

const Record<DiffFile>& diff_file_record() {
  static const Record<DiffFile> record = [] {
    using R = DiffFile;
    Record<R> r("What changed between two plans. Changes are after / before - 1.");
    r.file_of({std::string(kDiffSchema)}, true);
    r.row(&R::tool_version, "tool_version", kind::text(), "");
    r.row(&R::command, "command", kind::text(), "Makes the file again.");
    r.row(&R::inputs, "inputs", kind::list(input_change_record), "Those that changed.");
    r.row(&R::sentence, "sentence", kind::text(), "");
    r.row(&R::winner_changes, "winner_changes", kind::flag(), "");
    r.row(&R::step_time_change, "step_time_change", kind::nullable(kind::number(kAnyNumber)),
          "Of the winners; null: one plan has none.");
    r.row(&R::peak_memory_change, "peak_memory_change", kind::nullable(kind::number(kAnyNumber)),
          "");
    r.row(&R::layouts, "layouts", kind::list(diff_layout_record),
          "By rank after, then those that left.");
    r.row(&R::failures, "failures", kind::texts(), "Of --fail-if.");
    return r.all_required();
  }();
  return record;
}

DiffFile diff_file_of(const planner::PlanDiff& diff, const std::vector<std::string>& failures,
                      const Origin& origin) {
  DiffFile file{.tool_version = origin.tool_version,
                .command = origin.command,
                .inputs = diff.inputs,
                .sentence = planner::sentence_of(diff),
                .winner_changes = diff.winner_changes,
                .step_time_change = diff.step_time,
                .peak_memory_change = diff.peak_memory,
                .layouts = {},
                .failures = failures};
  for (const planner::LayoutChange& change : diff.layouts) {
    file.layouts.push_back({short_name(change.layout),
                            diff_place(change.rank_before, change.before),
                            diff_place(change.rank_after, change.after)});
  }
  return file;
}

planner::PlanSide plan_side_from_json(const Json& json, const std::string& file) {
  const PlanFile plan = plan_file_record().read(json, file);
  planner::PlanSide side;
  for (const char* key : {"model", "cluster", "job", "search"}) add_inputs(side, json, key);
  for (const PlannedLayout& ranked : plan.ranked) {
    require_number(ranked.step_time.value(), file, side.ranked.size(), "step_time_seconds");
    require_number(ranked.peak_memory.value(), file, side.ranked.size(), "peak_memory_bytes");
    side.ranked.push_back({ranked.layout, ranked.step_time, ranked.peak_memory});
  }
  return side;
}

}  // namespace meshwright::reports
