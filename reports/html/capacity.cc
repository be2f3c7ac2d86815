// SPDX-License-Identifier: Apache-2.0
// Behind the decision: where the elapsed days go, what the failures cost, what was assumed.
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

TableRow time_row(const std::string& name, double time, double elapsed) {
  return {
      escape(name),
      {duration_text(seconds(time)), time},
      {elapsed > 0.0 ? percent_text(time / elapsed) : "", elapsed > 0.0 ? time / elapsed : 0.0}};
}

// Productive and lost time, in the words of Google's goodput library; they add up.
std::string time_table(const Json& time) {
  if (!time.is_object()) return "";
  const double elapsed = number_at(time, "elapsed_s");
  TableRows rows{time_row("productive steps", number_at(time, "productive_s"), elapsed)};
  for (const auto& [name, lost] : part_at(time, "lost_s").items()) {
    const double seconds_lost = lost.is_number() ? lost.get<double>() : 0.0;
    if (seconds_lost > 0.0) rows.push_back(time_row(spoken(name), seconds_lost, elapsed));
  }
  rows.push_back(time_row("elapsed", elapsed, elapsed));
  return table("Where the elapsed time goes",
               {{"part"}, {"time", true}, {"share of the elapsed time", true}}, rows);
}

std::string disruption_text(const Json& row) {
  const Json& stops = part_at(row, "interruptions");
  const Json& saves = part_at(row, "checkpoint");
  if (!stops.is_object() || !saves.is_object()) return "";
  return fmt::format(
      "<p>{:.0f} interruptions are expected ({:.0f} to {:.0f}), one every {:.3g} hours; a "
      "checkpoint of {} every {} holds training up for {}; {:.0f} spare nodes.</p>\n",
      number_at(part_at(stops, "expected"), "p50"), number_at(part_at(stops, "expected"), "p10"),
      number_at(part_at(stops, "expected"), "p90"), number_at(stops, "mean_time_between_h"),
      traffic_text(bytes(number_at(saves, "bytes"))),
      duration_text(seconds(number_at(saves, "interval_s"))),
      seconds_text(seconds(number_at(saves, "pause_s"))), number_at(stops, "spare_nodes"));
}

std::string amount_range(const Json& assumption) {
  const double low = number_at(assumption, "low");
  const double high = number_at(assumption, "high");
  const std::string value = significant(number_at(assumption, "value"), 3);
  if (low == high) return value;
  return fmt::format("{} ({} to {})", value, significant(low, 3), significant(high, 3));
}

std::string assumptions_table(const Json& assumptions) {
  TableRows rows;
  for (const Json& a : assumptions) {
    rows.push_back({escape(text_at(a, "label")),
                    {amount_range(a), number_at(a, "value")},
                    escape(text_at(a, "unit")),
                    badge(text_at(a, "basis")),
                    flag_at(a, "in_interval") ? "yes" : "no",
                    escape(text_at(a, "source"))});
  }
  if (rows.empty()) return "";
  return table("What days, cost and energy assume",
               {{"what"}, {"value", true}, {"unit"}, {"basis"}, {"in the range"}, {"source"}},
               rows);
}

}  // namespace

std::string capacity(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& row = front_row(capacity);
  if (!row.is_object() || !flag_at(row, "fits")) return "";
  std::string body = paragraph(text_at(capacity, "reason")) + disruption_text(row) +
                     time_table(part_at(row, "time"));
  for (const Json& series : part_at(capacity, "scaling")) {
    body += paragraph(text_at(series, "sentence"));
  }
  body += assumptions_table(part_at(capacity, "assumptions"));
  if (!part_at(capacity, "included").empty()) {
    body += "<h3>What the ranges hold</h3>\n" + list(capacity["included"]);
  }
  return section("capacity", "Where the days go", body);
}

}  // namespace meshwright::reports::html
