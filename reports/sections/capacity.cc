// SPDX-License-Identifier: Apache-2.0
// Behind the decision: where the elapsed days go, what the failures cost, what was assumed.
#include <fmt/format.h>

#include <cctype>
#include <cmath>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/capacity_tables.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

std::string disruption_text(const CapacityRow& row) {
  const Interruptions& stops = row.interruptions;
  return fmt::format(
      "<p>{:.0f} interruptions are expected ({:.0f} to {:.0f}), one every {}; a "
      "checkpoint of {} every {} holds training up for {}; {} spare nodes.</p>\n",
      stops.expected.p50, stops.expected.p10, stops.expected.p90,
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
      "<p>Power: {} on average while it trains, where devices compute {} of a step; {} at most, {} "
      "while it waits for a restart.</p>\n",
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
std::string reference_part(const Report& report) {
  const Capacity& capacity = report.capacity;
  if (!capacity.reference) return "";
  const ReferenceFacts& reference = *capacity.reference;
  const std::string hours = fmt::format("{}-hours", device_noun(report));
  std::string text = fmt::format("<h3>Beside {}</h3>\n", html::escape(reference.name));
  if (const CapacityRow* row = capacity.row(reference.row)) text += beside_text(reference, *row);
  text += html::table(hours + " from this row to what is stated: the parts add up",
                      reference_table(reference, report.cluster.device_kind));
  if (const auto& more = reference.schedule_gpu_hours) {
    text += html::paragraph(fmt::format(
        "Batches by phase are in this row and in the run: the schedule takes {} M {} {} "
        "than the last phase's batch for all tokens.",
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
std::string costs_list(const std::vector<CapacityRow>& rows) {
  std::vector<std::string> costs;
  for (const CapacityRow& row : rows) {
    if (!row.cost_explanation.empty()) costs.push_back(row.cost_explanation);
  }
  return costs.empty() ? "" : "<h3>Median cost of each row</h3>\n" + html::list(costs);
}

std::string capacity_page(const Report& report) {
  const Capacity& capacity = report.capacity;
  const CapacityRow* row = capacity.front();
  if (row == nullptr || !row->fits) return "";
  std::string body;
  if (!capacity.tokens_stated) {
    body = fmt::format("<p>Nobody stated a training length: times here are of {} tokens.</p>\n",
                       si_text(capacity.train_tokens));
  }
  body += html::paragraph(as_sentence(capacity.reason)) + disruption_text(*row) + power_text(*row);
  body += html::table("Elapsed time, part by part", time_table(row->time));
  if (row->phases.size() > 1) {
    body += html::table("Phases of the training", phases_table(row->phases));
  }
  body += costs_list(capacity.rows) + reference_part(report);
  for (const ScalingSeries& series : capacity.scaling) body += html::paragraph(series.sentence);
  body += html::table("What days, cost and energy assume", assumptions_table(capacity.assumptions));
  if (!capacity.included.empty()) {
    body += "<h3>What the ranges include</h3>\n" + html::list(capacity.included);
  }
  return html::section("capacity", "Where the elapsed time goes", body);
}

}  // namespace

extern const ReportSection kCapacitySection;
constexpr ReportSection kCapacitySection{
    .rows =
        [](Record<Report>& record) {
          record.row(&Report::capacity, "capacity", kind::object(capacity_record),
                     "The plan's, or what its inputs ask without a training length.");
        },
    .fill = [](Report& report,
               const ReportContents& contents) { report.capacity = contents.capacity; },
    .page = capacity_page,
    .id = "capacity",
    .word = "Capacity"};

}  // namespace meshwright::reports
