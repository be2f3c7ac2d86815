// SPDX-License-Identifier: Apache-2.0
// The best step of each tensor and pipeline size, or why there is none.
#include <fmt/format.h>

#include <set>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using html::escape;
using planner::SizeCell;

const Record<HeatCell>& heat_cell_record() {
  static const Record<HeatCell> record = [] {
    using R = HeatCell;
    const auto fits = [](const R& cell) { return cell.step_time.has_value(); };
    const auto fails = [](const R& cell) { return !cell.step_time; };
    Record<R> r("The best layout of two sizes, or why there is none.");
    r.rows<&R::tensor_parallel_size, &R::pipeline_parallel_size>();
    r.row<&R::step_time>(nullable());
    r.row<&R::peak_memory>().only_if(fits);
    r.row<&R::short_name>().only_if(fits);
    r.row<&R::rule>("That the layouts of these sizes break.").only_if(fails);
    r.row<&R::reason>().only_if(fails);
    return r.named("HeatCell").all_required();
  }();
  return record;
}

const Record<HeatMap>& heat_map_record() {
  return described([](Record<HeatMap>& r) {
    using R = HeatMap;
    r.about("Tensor sizes against pipeline sizes, those of which any layout fits or nearly.");
    r.rows<&R::tensor_parallel_sizes, &R::pipeline_parallel_sizes>();
    r.row<&R::cells>(heat_cell_record);
    r.named("HeatMap").all_required();
  });
}

const Record<TooLarge>& too_large_record() {
  return described([](Record<TooLarge>& r) {
    using R = TooLarge;
    r.about("The layout of two sizes that missed the memory by least.");
    r.row<&R::short_name>();
    r.row<&R::step_time>("That it would have taken.");
    r.rows<&R::peak_memory, &R::reason>();
    r.row<&R::smallest_change>("That would admit it.");
    r.named("TooLarge").all_required();
  });
}

void heat_map_rows(Record<Report>& r) {
  r.row<&Report::heat_map>(heat_map_record);
  r.row<&Report::too_large>(too_large_record);
}

HeatCell heat_cell(const SizeCell& cell) {
  HeatCell made;
  made.tensor_parallel_size = cell.tensor_parallel_size;
  made.pipeline_parallel_size = cell.pipeline_parallel_size;
  if (cell.best) {
    made.step_time = cell.best->step_time;
    made.peak_memory = cell.best->peak_memory();
    made.short_name = short_name(cell.best->layout);
  } else {
    made.rule = cell.rejection ? rule_text(cell.rejection->rule).name : "no_layout";
    made.reason = cell.rejection ? cell.rejection->sentence : "no layout of these sizes";
  }
  return made;
}

void fill_heat_map(Report& report, const ReportContents& contents) {
  std::set<int> tensor, pipeline;
  for (const SizeCell& cell : contents.sizes) {
    if (!cell.best && !cell.too_large) continue;  // nothing worth showing
    tensor.insert(cell.tensor_parallel_size);
    pipeline.insert(cell.pipeline_parallel_size);
  }
  HeatMap& map = report.heat_map;
  map.tensor_parallel_sizes.assign(tensor.begin(), tensor.end());
  map.pipeline_parallel_sizes.assign(pipeline.begin(), pipeline.end());
  for (const SizeCell& cell : contents.sizes) {
    if (!tensor.contains(cell.tensor_parallel_size)) continue;
    if (!pipeline.contains(cell.pipeline_parallel_size)) continue;
    map.cells.push_back(heat_cell(cell));
  }
  for (const SizeCell& cell : contents.sizes) {
    if (!cell.too_large) continue;
    report.too_large.push_back({.short_name = short_name(cell.too_large->layout),
                                .step_time = cell.too_large->step_time,
                                .peak_memory = cell.too_large->peak_memory,
                                .reason = cell.rejection->sentence,
                                .smallest_change = cell.rejection->smallest_change});
  }
}

std::string heat_text(const HeatCell& cell) {
  if (cell.step_time) {
    return fmt::format("<span title=\"{}\">{}</span>", escape(cell.short_name),
                       significant(cell.step_time->value()));
  }
  const bool too_large = cell.rule == rule_text(Rule::memory_capacity).name;
  return fmt::format("<span class=\"why\" title=\"{}\">{}</span>", escape(cell.reason),
                     escape(too_large ? "too large" : spoken(cell.rule)));
}

std::string heat_map_page(const Report& report) {
  const HeatMap& map = report.heat_map;
  if (map.cells.empty()) return "";
  std::vector<html::Heading> headings{{"tensor size"}};
  for (const int size : map.pipeline_parallel_sizes) {
    headings.push_back({fmt::format("pipeline {}", size), true});
  }
  html::TableRows rows;
  for (const int size : map.tensor_parallel_sizes) {
    html::TableRow row{fmt::format("{}", size)};
    for (const HeatCell& cell : map.cells) {
      if (cell.tensor_parallel_size == size) row.push_back(heat_text(cell));
    }
    rows.push_back(std::move(row));
  }
  return html::section(
      "heat-map", "Tensor size against pipeline size",
      html::figure(
          "heat_map",
          "Best step time of each pair of sizes, in seconds; other sizes and switches are free. "
          "The colour scale ends at three times the fastest step. Cells marked * are slower and "
          "have the last colour.") +
          html::numbers(
              "The same as a table",
              html::table("Best step time in seconds, or why there is none", headings, rows)));
}

}  // namespace

extern const ReportSection kHeatMapSection;
constexpr ReportSection kHeatMapSection{.rows = heat_map_rows,
                                        .fill = fill_heat_map,
                                        .page = heat_map_page,
                                        .id = "heat-map",
                                        .word = "Sizes",
                                        .charts = "heat_map"};

}  // namespace meshwright::reports
