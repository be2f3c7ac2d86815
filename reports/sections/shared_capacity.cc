// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/shared_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/html/plot.h"
#include "reports/tables/shared_capacity_tables.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

constexpr double kHoursLeft = 56.0, kHoursRight = 640.0;  // pixels
constexpr double kHoursTop = 24.0, kHoursBottom = 264.0;  // pixels
constexpr std::size_t kLabelledHours = 7;  // three hours of a day apart, or a day of a week

// From the bottom of a column to its top.
struct GpuUse {
  std::string_view name;
  int planner::SharedHour::*gpus;
};
constexpr std::array kGpuUses{GpuUse{"service", &planner::SharedHour::service_gpus},
                              GpuUse{"training", &planner::SharedHour::training_gpus},
                              GpuUse{"spare", &planner::SharedHour::spare_gpus},
                              GpuUse{"free", &planner::SharedHour::free_gpus}};

constexpr std::array kSharedParts{
    html::PagePart{"hours", "Hours"}, html::PagePart{"sizes", "Sizes"},
    html::PagePart{"basis", "Rules and limits"}, html::PagePart{"provenance", "Reproduce"}};

struct HourPlane {
  html::PlotAxis hours, gpus;
};

std::string hour_column(const planner::SharedHour& hour, std::size_t place,
                        const HourPlane& plane) {
  const double left = plane.hours.at(static_cast<double>(place));
  const double width = plane.hours.at(static_cast<double>(place) + 1.0) - left;
  std::string out;
  int below = 0;
  for (const GpuUse& use : kGpuUses) {
    const int gpus = hour.*use.gpus;
    if (gpus == 0) continue;
    const double top = plane.gpus.at(below + gpus);
    out += html::plot_box({left, top, width, plane.gpus.at(below) - top}, html::paint_of(use.name),
                          fmt::format("hour {}: {} {}", place, count_text(gpus), use.name));
    below += gpus;
  }
  return out;
}

std::string hour_frame(const HourPlane& plane, std::size_t hours, std::string_view noun) {
  std::string out;
  for (const double gpus : html::plot_ticks(plane.gpus)) {
    const double y = plane.gpus.at(gpus);
    out += html::plot_line(kHoursLeft, y, kHoursRight, y, "grid") +
           html::plot_text(kHoursLeft - 6.0, y + 4.0, "soft", "end", number_text(gpus, 6));
  }
  const std::size_t step = std::max<std::size_t>(1, hours / kLabelledHours);
  for (std::size_t hour = 0; hour <= hours; hour += step) {
    out += html::plot_text(plane.hours.at(static_cast<double>(hour)), kHoursBottom + 15.0, "soft",
                           "middle", fmt::format("{}", hour));
  }
  return out + html::plot_text(0.0, 12.0, "soft", "start", noun) +
         html::plot_text(kHoursRight, kHoursBottom + 30.0, "soft", "end", "hour");
}

// What the costs of the table are; empty: there are none.
std::string cost_basis(const SharedCapacity& capacity) {
  const bool priced = std::any_of(capacity.rows.begin(), capacity.rows.end(),
                                  [](const SharedRowFacts& row) { return row.cost.has_value(); });
  if (!priced) return "";
  std::string text = fmt::format(
      "A cost is that of all {} until the training of that size ends. Costs of two sizes cover "
      "different times.",
      device_noun(capacity.device_kind, 2));
  if (capacity.prices) {
    text +=
        fmt::format(" Prices are those of {} ({}){}.", capacity.prices->name, capacity.prices->date,
                    capacity.prices->example ? ", an example and no offer" : "");
  }
  return html::paragraph(text);
}

std::string bullets(std::string_view heading, const std::vector<std::string>& items) {
  return fmt::format("<h3>{}</h3>\n", heading) + html::list(items);
}

}  // namespace

std::string gpus_by_hour_chart(const SharedCapacity& capacity) {
  const SharedRowFacts* front = capacity.front();
  if (front == nullptr || front->hours.empty()) return "";
  const HourPlane plane{{0.0, static_cast<double>(front->hours.size()), kHoursLeft, kHoursRight},
                        {0.0, static_cast<double>(front->gpus), kHoursBottom, kHoursTop}};
  std::string body = hour_frame(plane, front->hours.size(), device_noun(capacity.device_kind, 2));
  for (std::size_t hour = 0; hour < front->hours.size(); ++hour) {
    body += hour_column(front->hours[hour], hour, plane);
  }
  std::vector<std::string> names;
  for (const GpuUse& use : kGpuUses) names.emplace_back(use.name);
  return html::plot_figure({.id = "gpus-by-hour",
                            .caption = fmt::format(
                                "Use of the {} {} of {} in each hour.", count_text(front->gpus),
                                device_noun(capacity.device_kind, front->gpus), front->cluster),
                            .width = kHoursRight + 16.0,
                            .height = kHoursBottom + 36.0},
                           body) +
         html::legend(names);
}

std::string shared_capacity_header(const SharedCapacityFile& file, std::string_view hash) {
  const SharedCapacity& capacity = file.shared_capacity;
  std::string tag;
  if (capacity.prices && capacity.prices->example) {
    tag = fmt::format("<span class=\"tag\">example prices of {}, no offer</span> ",
                      html::escape(capacity.prices->date));
  }
  return fmt::format(
      "<header>\n<div class=\"top\"><h1>{}</h1>{}<span>record {} · open for decision</span></div>\n"
      "<p class=\"verdict\" id=\"verdict\">{}</p>\n</header>\n",
      html::escape(fmt::format("{} trained on {} tokens, {} served", file.model.name,
                               si_text(capacity.train_tokens), file.service.model)),
      tag, html::escape(hash.substr(0, 8)), html::escape(capacity.headline));
}

std::string shared_capacity_body(const SharedCapacityFile& file) {
  const SharedCapacity& capacity = file.shared_capacity;
  std::string body =
      html::section("hours", fmt::format("{} by hour", device_noun(capacity.device_kind, 2)),
                    html::paragraph(capacity.verdict) + gpus_by_hour_chart(capacity) +
                        html::table(fmt::format("Requests, replicas and {} of each hour",
                                                device_noun(capacity.device_kind, 2)),
                                    shared_hours_table(capacity)));
  body += html::section(
      "sizes", "Sizes of the cluster",
      cost_basis(capacity) + html::table(fmt::format("Counts of {} are least to most of the hours",
                                                     device_noun(capacity.device_kind, 2)),
                                         shared_rows_table(capacity, false)));
  body +=
      html::section("basis", "Rules and limits of the answer",
                    bullets("Rules", capacity.rules) + bullets("Assumed", capacity.assumptions) +
                        bullets("Not included", capacity.not_included));
  std::string notes;
  for (const std::string& note : file.notes) notes += html::paragraph(note);
  return body + html::section("provenance", "Reproduce",
                              fmt::format("<p>meshwright {}: <code>{}</code></p>\n{}",
                                          html::escape(file.origin.tool_version),
                                          html::escape(file.origin.command), notes));
}

std::string shared_capacity_navigation(std::string_view body) {
  return html::navigation(kSharedParts, body);
}

}  // namespace meshwright::reports
