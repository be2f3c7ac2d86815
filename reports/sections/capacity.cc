// SPDX-License-Identifier: Apache-2.0
// Behind the decision: where the elapsed days go, what the failures cost, what was assumed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/capacity_charts.h"
#include "reports/sections/decision_page.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/capacity_tables.h"
#include "reports/text/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports {
namespace {

std::string disruption_text(const CapacityRow& row) {
  const Interruptions& stops = row.interruptions;
  const double expected = stops.expected.p50;
  const std::string each = expected > 0.0 ? fmt::format(", one per {} of elapsed time",
                                                        duration_text(row.time.elapsed / expected))
                                          : "";
  return fmt::format(
      "<p>{:.0f} interruptions are expected (P10–P90: {:.0f}–{:.0f}){}. While it trains, the mean "
      "time between failures is {}. A checkpoint of {} every {} stops training for {}. {} spare "
      "nodes are paid for.</p>\n",
      expected, stops.expected.p10, stops.expected.p90, each,
      duration_text(seconds(stops.mean_time_between_h * 3600.0)), traffic_text(row.checkpoint.size),
      duration_text(row.checkpoint.interval), seconds_text(row.checkpoint.pause),
      stops.spare_nodes);
}

std::string power_text(const CapacityRow& row) {
  if (!row.power_mw) return "";
  const auto text = [](const std::optional<double>& megawatts) {
    return si_text(megawatts.value_or(0.0) * 1e6) + "W";
  };
  return fmt::format(
      "<p>Power with the site's PUE: {} on average while it trains, when devices compute for {} of "
      "a "
      "step. It is {} at most, and {} while the job waits for a restart.</p>\n",
      text(row.power_mw), percent_text(row.load), text(row.power_mw_high),
      text(row.power_mw_waiting));
}

// Compares one number of the reference with the row's.
std::string beside_text(const ReferenceFacts& reference, const CapacityRow& row) {
  std::string text;
  const auto add = [&](const char* label, const std::string& theirs, const std::string& mine) {
    text += fmt::format("<li>{}: {} stated, {} here</li>\n", label, theirs, mine);
  };
  add("days", significant(reference.stated_gpu_hours / 24.0 / reference.gpus, 3),
      significant(row.days.p50, 3));
  if (const auto& mfu = reference.stated_mfu) {
    add("MFU", percent_text(*mfu), percent_text(row.mfu));
  }
  if (const auto& goodput = reference.stated_goodput) {
    add("goodput", percent_text(*goodput), percent_text(row.goodput));
  }
  if (const auto& hours = reference.stated_mean_time_between_h) {
    add("hours between interruptions", significant(*hours, 3),
        significant(row.interruptions.mean_time_between_h, 3));
  }
  return "<ul>\n" + text + "</ul>\n";
}

// A run that somebody made, and the difference in parts.
std::string reference_part(const Capacity& capacity, DeviceKind kind) {
  if (!capacity.reference) return "";
  const ReferenceFacts& reference = *capacity.reference;
  const std::string hours = fmt::format("{}-hours", device_noun(kind, 1));
  std::string text = fmt::format("<h3>Compared with {}</h3>\n", html::escape(reference.name));
  if (const CapacityRow* row = capacity.row(reference.row)) text += beside_text(reference, *row);
  text += html::table(hours + " from this row to what is stated: the parts add up",
                      reference_table(reference, kind));
  if (const auto& more = reference.schedule_gpu_hours) {
    text += html::paragraph(fmt::format(
        "This row and the run have batches by phase. Their schedule takes {} M {} {} than the last "
        "phase's batch for all tokens.",
        number_text(std::abs(*more) / 1e6, 3), hours, *more >= 0.0 ? "more" : "less"));
  }
  return text;
}

std::string as_sentence(std::string text) {
  if (text.empty()) return text;
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

// Each row's median cost as a product.
std::string costs_list(const Capacity& capacity) {
  std::vector<std::string> costs;
  for (const CapacityRow& row : capacity.rows) {
    if (!row.cost_explanation.empty()) costs.push_back("Median cost: " + row.cost_explanation);
  }
  if (costs.empty()) return "";
  std::string prices;
  if (const auto& list = capacity.prices) {
    prices = html::paragraph(fmt::format("{} of {} ({}): {}",
                                         list->example ? "Example prices, no offer," : "Prices",
                                         list->date, list->name, list->source));
  }
  return "<h3>Median cost of each row</h3>\n" + prices + html::list(costs);
}

// Each row's elapsed time as a bar: productive steps, and what is lost to what.
std::string elapsed_bars(const Capacity& capacity) {
  std::vector<std::string> names{"productive_steps"};
  html::TableRows rows;
  for (const CapacityRow& row : capacity.rows) {
    if (!row.fits) continue;
    const double elapsed = row.time.elapsed.value();
    std::vector<html::Segment> segments{{"productive_steps", row.time.productive.value(),
                                         "productive steps: " + percent_text(row.goodput)}};
    for (const auto& [kind, name] : planner::kLostTimeNames) {
      const double lost = row.time[kind].value();
      if (lost <= 0.0) continue;
      segments.push_back({std::string(name), lost,
                          fmt::format("{}: {} ({})", spoken(name), duration_text(seconds(lost)),
                                      percent_text(lost / elapsed))});
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      if (!known && lost > 0.002 * elapsed) names.emplace_back(name);
    }
    rows.push_back({fmt::format("{} {}", count_text(row.gpus), html::escape(row.cluster)),
                    html::bar(segments, elapsed), percent_text(row.goodput)});
  }
  if (rows.empty()) return "";
  return "<div class=\"bars\">" +
         html::table("Elapsed time of each row: share of productive steps and of lost time",
                     {{"row"}, {"parts"}, {"goodput", true}}, rows) +
         "</div>" + html::legend(names);
}

}  // namespace

std::string capacity_body(const Capacity& capacity, DeviceKind kind) {
  const CapacityRow* row = capacity.front();
  if (row == nullptr || !row->fits) return "";
  std::string body;
  if (!capacity.tokens_stated) {
    body = fmt::format("<p>No training length is stated. Times are for {} tokens.</p>\n",
                       si_text(capacity.train_tokens));
  }
  body += html::paragraph(capacity.verdict) + html::paragraph(as_sentence(capacity.reason)) +
          clusters_table(capacity, kind) + calendar_table(capacity) + disruption_text(*row) +
          power_text(*row);
  body += html::table(fmt::format("Elapsed time of {} {}, part by part", count_text(row->gpus),
                                  device_noun(kind, row->gpus)),
                      time_table(row->time, row->days.p50)) +
          waterfall_chart(capacity) + goodput_chart(capacity, kind) + elapsed_bars(capacity);
  if (row->phases.size() > 1) {
    body += html::table("Phases of the training", phases_table(row->phases));
  }
  body += costs_list(capacity) + reference_part(capacity, kind);
  for (const ScalingSeries& series : capacity.scaling) body += html::paragraph(series.sentence);
  body += html::table("What days, cost and energy assume", assumptions_table(capacity.assumptions));
  if (!capacity.included.empty()) {
    body += "<h3>What the ranges include</h3>\n" + html::list(capacity.included);
  }
  return html::section("capacity", "Days, cost and energy", body);
}

namespace {

std::string capacity_page(const Report& report) {
  return capacity_body(report.capacity, report.cluster.device_kind);
}

}  // namespace

extern const ReportSection kCapacitySection;
constexpr ReportSection kCapacitySection{
    .rows =
        [](Record<Report>& record) {
          record.row<&Report::capacity>(
              capacity_record, "The plan's, or what its inputs ask without a training length.");
        },
    .fill = [](Report& report,
               const ReportContents& contents) { report.capacity = contents.capacity; },
    .page = capacity_page,
    .id = "capacity",
    .word = "Capacity"};

}  // namespace meshwright::reports
