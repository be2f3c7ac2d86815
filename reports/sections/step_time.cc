// SPDX-License-Identifier: Apache-2.0
// Where the time of the ranked layouts goes.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/drawing.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using RankedLayouts = std::span<const RankedLayout>;

// The layouts that were asked for; what else the plan keeps follows them.
RankedLayouts top_of(const Report& report) {
  const auto asked = static_cast<std::size_t>(report.top);
  return RankedLayouts(report.ranked)
      .first(std::min({report.ranked.size(), html::kMostBars, asked}));
}

std::vector<std::string> used_terms(RankedLayouts ranked) {
  std::vector<std::string> names;
  for (const RankedLayout& layout : ranked) {
    for (const Term& term : layout.terms) {
      const std::string_view name = name_of(term.kind);
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      const bool seen = term.cost.time > layout.step_time * html::kSeenShare;
      if (seen && !known) names.emplace_back(name);
    }
  }
  return names;
}

std::string step_time_bars(RankedLayouts ranked) {
  Seconds longest;
  for (const RankedLayout& layout : ranked) longest = std::max(longest, layout.step_time);
  html::TableRows rows;
  for (const RankedLayout& layout : ranked) {
    std::vector<html::Segment> segments;
    for (const Term& term : layout.terms) {
      const std::string name(name_of(term.kind));
      segments.push_back({name, term.cost.time.value(),
                          fmt::format("{}: {}", spoken(name), seconds_text(term.cost.time))});
    }
    rows.push_back({fmt::format("#{} {}", layout.rank, html::escape(brief_name(layout.layout))),
                    html::bar(segments, longest.value()), seconds_text(layout.step_time)});
  }
  return "<div class=\"bars\">" +
         html::table("Step time of the ranked layouts", {{"layout"}, {"terms"}, {"step", true}},
                     rows) +
         "</div>" + html::legend(used_terms(ranked));
}

// The terms, and the step that they add up to.
Table with_total(const RankedLayout& best) {
  Table table = terms_table(best.terms, best.step_time);
  table.rows.push_back({"step", best.step_time / milliseconds(1), 100.0, Cell(), Cell()});
  return table;
}

std::string step_time_page(const Report& report) {
  if (report.ranked.empty()) return "";
  const RankedLayout& best = report.ranked.front();
  return html::section(
      "step-time", "Where the time goes",
      html::figure("step_time", "Step time of the ranked layouts, split into its terms.",
                   step_time_bars(top_of(report))) +
          html::table("Step time of layout #1, term by term", with_total(best)));
}

}  // namespace

extern const ReportSection kStepTimeSection;
constexpr ReportSection kStepTimeSection{
    .page = step_time_page, .id = "step-time", .word = "Time", .charts = "step_time"};

}  // namespace meshwright::reports
