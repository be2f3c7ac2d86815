// SPDX-License-Identifier: Apache-2.0
#include "reports/records/plan_diff.h"

#include <fmt/format.h>

#include "reports/records/plan_file.h"
#include "sim/base/error.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

const Record<planner::InputChange>& input_change_record() {
  return described([](Record<planner::InputChange>& r) {
    using R = planner::InputChange;
    r.about("A value of the plans' inputs.");
    r.row<&R::pointer>("A JSON pointer into the plan.");
    r.row<&R::before>("Empty: it is not there.");
    r.row<&R::after>();
    r.named("InputChange").all_required();
  });
}

const Record<DiffPlace>& diff_place_record() {
  return described([](Record<DiffPlace>& r) {
    using R = DiffPlace;
    r.about("Where a layout is in a ranking.");
    r.row<&R::rank>("From 1.");
    r.rows<&R::step_time, &R::peak_memory>();
    r.named("DiffPlace").all_required();
  });
}

const Record<DiffQuantity>& diff_quantity_record() {
  return described([](Record<DiffQuantity>& r) {
    using R = DiffQuantity;
    r.about("A quantity of the best layouts: s, tokens/s, 0 to 1, GiB, days, currency.");
    r.row<&R::name>(planner::kPlanQuantityNames);
    r.rows<&R::before, &R::after>();
    r.row<&R::change>(kAnyNumber, "after / before - 1; of step_time per token.");
    r.named("DiffQuantity").all_required();
  });
}

const Record<DiffLayout>& diff_layout_record() {
  return described([](Record<DiffLayout>& r) {
    using R = DiffLayout;
    r.about("A layout of either ranking.");
    r.row<&R::short_name>();
    r.row<&R::before>(nullable(diff_place_record), "Null: it is not ranked there.");
    r.row<&R::after>(nullable(diff_place_record));
    r.named("DiffLayout").all_required();
  });
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

// The best layout's quantities, as the plan's file has them.
planner::PlanQuantities best_of(const PlanFile& plan, const Json& json,
                                const planner::PlanSide& side) {
  using enum planner::PlanQuantity;
  planner::PlanQuantities best{};
  if (side.ranked.empty()) return best;
  const auto set = [&best](planner::PlanQuantity quantity, double value) {
    best[static_cast<std::size_t>(quantity)] = value;
  };
  const planner::RankedLayout& winner = side.ranked.front();
  set(step_time, winner.step_time.value());
  set(tokens_per_second, side.tokens_per_step / winner.step_time.value());
  set(peak_memory, in_gibibytes(winner.peak_memory));
  const Json& ranked = json["ranked"].front();
  const auto utilization = ranked.find("model_flops_utilization");
  if (utilization != ranked.end()) set(mfu, utilization->get<double>());
  if (!plan.capacity || !plan.capacity->planned) return best;
  for (const CapacityRow& row : plan.capacity->rows) {
    if (row.id != *plan.capacity->planned) continue;
    set(days, row.days.p50);
    if (row.cost) set(cost, row.cost->p50);
  }
  return best;
}

// A plan without the numbers that it was made with cannot be compared.
void require_number(double value, const std::string& file, std::size_t place,
                    std::string_view key) {
  if (value > 0.0) return;
  throw InputError(file, fmt::format("/ranked/{}/{}", place, key), "is required and missing");
}

}  // namespace

const Record<DiffFile>& diff_file_record() {
  return described([](Record<DiffFile>& r) {
    using R = DiffFile;
    r.about("What changed between two plans.");
    r.file_of({std::string(kDiffSchema)}, true);
    r.row<&R::tool_version>();
    r.row<&R::command>("Makes the file again.");
    r.row<&R::inputs>(input_change_record, "Those that changed.");
    r.rows<&R::sentence, &R::winner_changes>();
    r.row<&R::quantities>(diff_quantity_record, "What both plans say.");
    r.row<&R::layouts>(diff_layout_record, "By rank after, then those that left.");
    r.row<&R::failures>("Of --fail-if.");
    r.all_required();
  });
}

DiffFile diff_file_of(const planner::PlanDiff& diff, const std::vector<std::string>& failures,
                      const Origin& origin) {
  DiffFile file{.tool_version = origin.tool_version,
                .command = origin.command,
                .inputs = diff.inputs,
                .sentence = planner::sentence_of(diff),
                .winner_changes = diff.winner_changes,
                .quantities = {},
                .layouts = {},
                .failures = failures};
  for (const auto& entry : planner::kPlanQuantityNames) {
    const auto at = static_cast<std::size_t>(entry.value);
    const std::optional<double> change = diff.change(entry.value);
    if (change)
      file.quantities.push_back({entry.value, *diff.before[at], *diff.after[at], *change});
  }
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
  side.tokens_per_step = static_cast<double>(plan.job.global_batch_size) * plan.job.seq_length;
  side.best = best_of(plan, json, side);
  return side;
}

}  // namespace meshwright::reports
