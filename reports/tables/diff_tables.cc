// SPDX-License-Identifier: Apache-2.0
#include "reports/tables/diff_tables.h"

#include <utility>

#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

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

std::vector<Table> diff_tables(const planner::PlanDiff& diff) {
  std::vector<Table> tables;
  if (!diff.inputs.empty()) {
    Table inputs{
        "", {{"input", "input", ""}, {"before", "before", ""}, {"after", "after", ""}}, {}};
    for (const planner::InputChange& change : diff.inputs) {
      inputs.rows.push_back({change.pointer, value_cell(change.before), value_cell(change.after)});
    }
    tables.push_back(named("inputs", std::move(inputs)));
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
  tables.push_back(named("ranking", std::move(ranking)));
  return tables;
}

}  // namespace meshwright::reports
