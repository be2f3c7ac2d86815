// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_diff_json.h"

#include <fmt/format.h>

#include "reports/plan_json.h"
#include "sim/layout/short_name.h"
#include "sim/record/reader.h"

namespace meshwright::reports {
namespace {

void add_inputs(planner::PlanSide& side, const Json& json, const std::string& key) {
  const auto section = json.find(key);
  if (section == json.end() || !section->is_object()) return;
  const Json flat = section->flatten();
  for (const auto& [pointer, value] : flat.items()) {
    side.inputs["/" + key + pointer] = value.is_string() ? value.get<std::string>() : value.dump();
  }
}

Json place(const std::optional<std::size_t>& rank,
           const std::optional<planner::RankedLayout>& ranked) {
  if (!rank) return {};
  return {{"rank", *rank + 1},
          {"step_time_seconds", ranked->step_time.value()},
          {"peak_memory_bytes", ranked->peak_memory.value()}};
}

Cell rank_cell(const std::optional<std::size_t>& rank) {
  return rank ? Cell(static_cast<double>(*rank + 1)) : Cell();
}

Cell step_cell(const std::optional<planner::RankedLayout>& ranked) {
  return ranked ? Cell(ranked->step_time.value()) : Cell();
}

Cell memory_cell(const std::optional<planner::RankedLayout>& ranked) {
  return ranked ? Cell(in_gibibytes(ranked->peak_memory)) : Cell();
}

Cell change_cell(const planner::LayoutChange& change) {
  if (!change.before || !change.after) return {};
  return 100.0 * (change.after->step_time / change.before->step_time - 1.0);
}

Cell value_cell(const std::string& value) { return value.empty() ? Cell() : Cell(value); }

}  // namespace

planner::PlanSide plan_side_from_json(const Json& json, const std::string& file) {
  const PlanFile plan = plan_from_json(json, file);
  planner::PlanSide side;
  for (const char* key : {"model", "cluster", "job", "search"}) add_inputs(side, json, key);
  for (std::size_t i = 0; i < plan.layouts.size(); ++i) {
    ObjectReader entry(json["ranked"][i], file, fmt::format("/ranked/{}", i));
    const NumberRange positive{.low_excluded = true};
    side.ranked.push_back({plan.layouts[i],
                           seconds(entry.required_number("step_time_seconds", positive)),
                           bytes(entry.required_number("peak_memory_bytes", positive))});
  }
  return side;
}

Json diff_to_json(const planner::PlanDiff& diff, const std::vector<std::string>& failures,
                  const Origin& origin) {
  Json json = artefact(kDiffSchema, origin);
  json["sentence"] = planner::sentence_of(diff);
  json["winner_changes"] = diff.winner_changes;
  json["step_time_change"] = diff.step_time ? Json(*diff.step_time) : Json();
  json["peak_memory_change"] = diff.peak_memory ? Json(*diff.peak_memory) : Json();
  json["inputs"] = Json::array();
  for (const planner::InputChange& change : diff.inputs) {
    json["inputs"].push_back(
        {{"pointer", change.pointer}, {"before", change.before}, {"after", change.after}});
  }
  json["layouts"] = Json::array();
  for (const planner::LayoutChange& change : diff.layouts) {
    json["layouts"].push_back({{"short_name", short_name(change.layout)},
                               {"before", place(change.rank_before, change.before)},
                               {"after", place(change.rank_after, change.after)}});
  }
  json["failures"] = failures;
  return json;
}

std::vector<Table> diff_tables(const planner::PlanDiff& diff) {
  std::vector<Table> tables;
  if (!diff.inputs.empty()) {
    Table inputs{
        "", {{"input", "input", ""}, {"before", "before", ""}, {"after", "after", ""}}, {}};
    for (const planner::InputChange& change : diff.inputs) {
      inputs.rows.push_back({change.pointer, value_cell(change.before), value_cell(change.after)});
    }
    tables.push_back(inputs);
  }
  Table ranking{"",
                {{"rank_before", "rank before", ""},
                 {"rank_after", "rank after", ""},
                 {"layout", "layout", ""},
                 {"step_before_seconds", "step before", "s"},
                 {"step_after_seconds", "step after", "s"},
                 {"step_change_percent", "change", "%", 3},
                 {"memory_before_gib", "memory before", "GiB", 3},
                 {"memory_after_gib", "memory after", "GiB", 3}},
                {}};
  for (const planner::LayoutChange& change : diff.layouts) {
    ranking.rows.push_back({rank_cell(change.rank_before), rank_cell(change.rank_after),
                            brief_name(change.layout), step_cell(change.before),
                            step_cell(change.after), change_cell(change),
                            memory_cell(change.before), memory_cell(change.after)});
  }
  tables.push_back(ranking);
  return tables;
}

}  // namespace meshwright::reports
