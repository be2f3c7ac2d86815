// SPDX-License-Identifier: Apache-2.0
// Where the time of the ranked layouts goes.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/html/blocks.h"
#include "reports/html/drawing.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/html/label_places.h"
#include "reports/html/plot.h"
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

const Record<planner::RooflineOperator>& roofline_operator_record() {
  return described([](Record<planner::RooflineOperator>& r) {
    using R = planner::RooflineOperator;
    r.about("An operator, forward, of one micro-batch on one rank.");
    r.row<&R::name>();
    r.row<&R::work>("flops", "");
    r.row<&R::traffic>("bytes", "Read and written.");
    r.row<&R::time>("seconds", "");
    r.named("RooflineOperator").all_required();
  });
}

const Record<planner::Roofline>& roofline_record() {
  return described([](Record<planner::Roofline>& r) {
    using R = planner::Roofline;
    r.about("Operators of the best layout's last layer and head under the device's roofs.");
    r.row<&R::peak>("Of products in the job's number format.");
    r.row<&R::bandwidth>();
    r.row<&R::operators>(roofline_operator_record, "Without those that have no FLOPs.");
    r.named("Roofline").all_required();
  });
}

void step_time_rows(Record<Report>& r) { r.row<&Report::roofline>(nullable(roofline_record)); }

void fill_step_time(Report& report, const ReportContents& contents) {
  if (contents.plan.ranked.empty()) return;
  report.roofline = planner::roofline_of(contents.plan, contents.plan.ranked.front().layout);
}

constexpr double kRoofLeft = 60.0, kRoofRight = 500.0, kRoofTop = 16.0, kRoofBottom = 300.0;

struct RoofPlane {
  html::PlotAxis x, y;  // FLOPs per byte, FLOP/s
};

RoofPlane roof_plane(const planner::Roofline& roofs) {
  const double ridge = roofs.peak.value() / roofs.bandwidth.value();
  double least = ridge / 4.0, most = ridge * 4.0, slowest = roofs.peak.value() / 10.0;
  for (const planner::RooflineOperator& op : roofs.operators) {
    least = std::min(least, op.intensity() / 2.0);
    most = std::max(most, op.intensity() * 2.0);
    slowest = std::min(slowest, op.rate().value() / 2.0);
  }
  return {{least, most, kRoofLeft, kRoofRight, true},
          {slowest, roofs.peak.value() * 1.5, kRoofBottom, kRoofTop, true}};
}

std::string roof_frame(const planner::Roofline& roofs, const RoofPlane& plane) {
  std::string out;
  for (const double intensity : html::plot_ticks(plane.x)) {
    const double x = plane.x.at(intensity);
    out += html::plot_line(x, kRoofTop, x, kRoofBottom, "grid") +
           html::plot_text(x, kRoofBottom + 15.0, "soft", "middle", number_text(intensity, 3));
  }
  for (const double rate : html::plot_ticks(plane.y)) {
    const double y = plane.y.at(rate);
    out += html::plot_line(kRoofLeft, y, kRoofRight, y, "grid") +
           html::plot_text(kRoofLeft - 6.0, y + 4.0, "soft", "end", si_text(rate));
  }
  // The bandwidth's roof meets the bottom or the left side.
  const double ridge = roofs.peak.value() / roofs.bandwidth.value();
  const double from = std::max(plane.x.from, plane.y.from / roofs.bandwidth.value());
  out += html::plot_line(plane.x.at(from), plane.y.at(roofs.attainable(from).value()),
                         plane.x.at(ridge), plane.y.at(roofs.peak.value()), "roof") +
         html::plot_line(plane.x.at(ridge), plane.y.at(roofs.peak.value()), kRoofRight,
                         plane.y.at(roofs.peak.value()), "roof");
  return out + html::plot_text(0.0, 11.0, "soft", "start", "FLOP/s") +
         html::plot_text(kRoofRight, kRoofBottom + 30.0, "soft", "end", "FLOPs per byte");
}

// Points are numbered; the names stand beside the chart.
std::string roof_points(const planner::Roofline& roofs, const RoofPlane& plane) {
  std::string out;
  html::LabelPlaces places(kRoofRight);
  for (const planner::RooflineOperator& op : roofs.operators) {
    const double x = plane.x.at(op.intensity()), y = plane.y.at(op.rate().value());
    places.block({x - 5.0, y - 5.0, 10.0, 10.0});
  }
  for (std::size_t i = 0; i < roofs.operators.size(); ++i) {
    const planner::RooflineOperator& op = roofs.operators[i];
    const double x = plane.x.at(op.intensity()), y = plane.y.at(op.rate().value());
    const std::string number = std::to_string(i + 1);
    const std::string words =
        fmt::format("{} {}: {}FLOP/s, {} of the roof", number, op.name, si_text(op.rate().value()),
                    percent_text(op.rate() / roofs.attainable(op.intensity())));
    if (const auto free = places.place(x, y, number)) {
      out += html::plot_text(free->x, free->y, "label", free->anchor, number);
    }
    out += html::plot_point(x, y, html::kTints[i % html::kTints.size()].colour, words) +
           html::plot_text(kRoofRight + 14.0, kRoofTop + 10.0 + 16.0 * static_cast<double>(i),
                           "soft", "start", words);
  }
  return out;
}

std::string roofline_chart(const std::optional<planner::Roofline>& roofs) {
  if (!roofs || roofs->operators.empty()) return "";
  const RoofPlane plane = roof_plane(*roofs);
  const double names = kRoofTop + 16.0 * static_cast<double>(roofs->operators.size());
  return html::plot_figure(
      {.id = "roofline",
       .caption = "Forward operators of the last layer and the head of layout #1 under the "
                  "device's datasheet roofs, for one micro-batch.",
       .width = 860.0,
       .height = std::max(kRoofBottom + 34.0, names + 8.0)},
      roof_frame(*roofs, plane) + roof_points(*roofs, plane));
}

std::string step_time_page(const Report& report) {
  if (report.ranked.empty()) return "";
  const RankedLayout& best = report.ranked.front();
  return html::section(
      "step-time", "Where the time goes",
      html::figure("step_time", "Step time of the ranked layouts, split into its terms.",
                   step_time_bars(top_of(report))) +
          html::table("Step time of layout #1, term by term", with_total(best)) +
          roofline_chart(report.roofline));
}

}  // namespace

extern const ReportSection kStepTimeSection;
constexpr ReportSection kStepTimeSection{.rows = step_time_rows,
                                         .fill = fill_step_time,
                                         .page = step_time_page,
                                         .id = "step-time",
                                         .word = "Time",
                                         .charts = "step_time"};

}  // namespace meshwright::reports
