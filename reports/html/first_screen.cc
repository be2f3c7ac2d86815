// SPDX-License-Identifier: Apache-2.0
// What a capacity review looks at first, and prints as one page: how many GPUs, done when, for how
// much, how sure, what could go wrong, what would change it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

constexpr std::size_t kFewFlags = 3;
constexpr std::size_t kFewLevers = 5;
constexpr double kDay = 86400.0;

// The unit that the recommended time reads best in.
struct TimeUnit {
  std::string_view name = "days";
  double seconds = kDay;
};
TimeUnit unit_for(double time) {
  if (time >= 2.0 * kDay) return {};
  return time >= 7200.0 ? TimeUnit{"hours", 3600.0} : TimeUnit{"minutes", 60.0};
}

std::string short_number(double value) {
  if (std::abs(value) >= 1000.0) return count_text(std::llround(value));
  return significant(value, 3);
}

std::string range(const std::string& low, const std::string& high) {
  return fmt::format(" <span class=\"range\">{} – {}</span>", low, high);
}

TableCell time_cell(const Json& row, const TimeUnit& unit) {
  const auto at = [&](const char* key) { return short_number(number_at(row, key) / unit.seconds); };
  return {at("train_seconds") + range(at("train_low_seconds"), at("train_high_seconds")),
          number_at(row, "train_seconds") / unit.seconds};
}

TableCell cost_cell(const Json& row) {
  if (!part_at(row, "cost").is_number()) {
    return {si_text(number_at(row, "gpu_hours")), number_at(row, "gpu_hours")};
  }
  return {si_text(number_at(row, "cost")) +
              range(si_text(number_at(row, "cost_low")), si_text(number_at(row, "cost_high"))),
          number_at(row, "cost")};
}

TableCell energy_cell(const Json& row) {
  if (!part_at(row, "device_energy_kwh").is_number()) return {""};
  const double energy = number_at(row, "device_energy_kwh");
  return {si_text(energy * 1e3) + "Wh", energy};
}

std::string gpus_text(const Json& row) {
  return count_text(static_cast<std::int64_t>(number_at(row, "gpus")));
}

// "★" recommended, "◂" the plan's own where that is another.
std::string mark_of(const Json& row) {
  if (flag_at(row, "recommended")) return " <abbr title=\"recommended\">★</abbr>";
  return flag_at(row, "planned") ? " <abbr title=\"this plan\">◂</abbr>" : "";
}

// Where rows are of several clusters or batches, these stand beside the count.
std::string where_text(const Json& row, const Json& rows) {
  std::string text = gpus_text(row);
  for (const Json& other : rows) {
    if (text_at(other, "cluster") == text_at(row, "cluster")) continue;
    text += fmt::format(" {}", escape(text_at(row, "cluster")));
    break;
  }
  for (const Json& other : rows) {
    if (number_at(other, "global_batch_size") == number_at(row, "global_batch_size")) continue;
    text += fmt::format(", batch {}", short_number(number_at(row, "global_batch_size")));
    break;
  }
  return text;
}

TableCell goodput_cell(const Json& row) {
  if (!part_at(row, "goodput").is_number()) return {"not counted"};
  return {percent_text(number_at(row, "goodput")), number_at(row, "goodput")};
}

TableRow decision_row(const Json& row, const Json& rows, const TimeUnit& unit) {
  return {{where_text(row, rows) + mark_of(row), number_at(row, "gpus")},
          time_cell(row, unit),
          cost_cell(row),
          energy_cell(row),
          goodput_cell(row),
          layout_code(row),
          {seconds_text(seconds(number_at(row, "step_time_seconds"))),
           number_at(row, "step_time_seconds")},
          {percent_text(number_at(row, "model_flops_utilization")),
           number_at(row, "model_flops_utilization")},
          {percent_text(number_at(row, "memory_share")), number_at(row, "memory_share")}};
}

const Json* recommended(const Json& rows) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [](const Json& row) { return flag_at(row, "recommended"); });
  return found == rows.end() ? nullptr : &*found;
}

std::string decision_table(const Json& decision) {
  const Json& rows = part_at(decision, "rows");
  const Json* chosen = recommended(rows);
  if (rows.empty()) return "";
  const TimeUnit unit = unit_for(chosen != nullptr ? number_at(*chosen, "train_seconds") : kDay);
  const std::string currency = text_at(decision, "currency");
  const std::string money = currency.empty() ? "cost" : fmt::format("cost, {}", currency);
  const bool priced = chosen != nullptr && part_at(*chosen, "cost").is_number();
  const std::vector<Heading> headings{{"GPUs", true},
                                      {std::string(unit.name), true},
                                      {priced ? money : "GPU-hours", true},
                                      {"energy", true},
                                      {"goodput", true},
                                      {"best layout"},
                                      {"step", true},
                                      {"MFU", true},
                                      {"memory", true}};
  std::string text;
  for (const Json& row : rows) {
    if (row.contains("step_time_seconds")) {
      text += table_row(headings, decision_row(row, rows, unit),
                        &row == chosen ? " id=\"recommended\" class=\"pick\"" : "");
    }
    const std::string failed = text_at(row, "failed");
    if (!failed.empty()) {
      text += fmt::format(
          "<tr class=\"failed\"><th scope=\"row\" class=\"number\">{}</th>"
          "<td colspan=\"8\">{}</td></tr>\n",
          row.contains("step_time_seconds") ? "fails" : gpus_text(row), escape(failed));
    }
  }
  return fmt::format("<div id=\"decision-table\" data-fixed>{}</div>\n",
                     table_of_rows(fmt::format("Each with its own best layout; ranges: {}",
                                               text_at(decision, "range")),
                                   headings, text));
}

std::string panel(std::string_view id, std::string_view heading, const std::string& body) {
  return fmt::format("<div class=\"panel\" id=\"{}\"><h2>{}</h2>\n{}</div>\n", id, escape(heading),
                     body);
}

// What the interval is that of, and what would narrow it, where the record says it.
std::string regime(const Json& report) {
  const Json& summary = part_at(report, "summary");
  const std::string of = text_at(summary, "interval_regime");
  if (of.empty()) return "";
  const std::string narrowed = text_at(summary, "interval_narrowed_by");
  return fmt::format(
      "<li><b>Ranges:</b> those of {}{}</li>\n", escape(spoken(of)),
      narrowed.empty() ? "." : fmt::format("; to narrow them: {}", escape(narrowed)));
}

std::string certainty(const Json& report) {
  std::string items;
  for (const Json& item : part_at(report, "certainty")) {
    items += fmt::format("<li><b>{}:</b> {}</li>\n", escape(text_at(item, "label")),
                         escape(text_at(item, "text")));
  }
  return panel("certainty", "How sure?", "<ul>" + items + regime(report) + "</ul>");
}

std::string flag_effect(const Json& flag, double steps) {
  if (!part_at(flag, "effect_seconds").is_number()) {
    return memory_text(bytes(number_at(flag, "effect_bytes")));
  }
  return duration_text(seconds(number_at(flag, "effect_seconds") * steps));
}

std::string flags(const Json& report) {
  const Json& flags = part_at(part_at(report, "answers"), "red_flags");
  std::string items;
  std::size_t shown = 0;
  for (const Json& flag : flags) {
    if (shown == kFewFlags) break;
    items += fmt::format("<li><b>{} ({}):</b> {}</li>\n", escape(spoken(text_at(flag, "id"))),
                         flag_effect(flag, train_steps(report)), escape(text_at(flag, "sentence")));
    ++shown;
  }
  std::string body = items.empty() ? "<p>No red flag.</p>" : "<ul>" + items + "</ul>";
  if (flags.size() > shown) {
    body += fmt::format("<p><a href=\"#all-red-flags\">{} more</a></p>", flags.size() - shown);
  }
  return panel("red-flags", "Look at this before approving", body);
}

std::string amount_of(const Json& input) {
  const std::string unit = text_at(input, "unit");
  const double value = number_at(input, "value");
  if (unit.empty()) return percent_text(value);
  return fmt::format("{} {}", significant(value, 3), unit == "us" ? "µs" : unit);
}

std::string rests_on(const Json& report) {
  std::string items;
  for (const Json& input : part_at(report, "rests_on")) {
    items += fmt::format("<li title=\"{}\">{} {} {} ±{:.0f} %</li>\n",
                         escape(text_at(input, "source")), escape(text_at(input, "label")),
                         amount_of(input), badge(text_at(input, "provenance")),
                         number_at(input, "relative_spread") * 100.0);
  }
  std::string out = "<ul>" + items + "</ul>";
  for (const Json& sentence : part_at(report, "left_out")) {
    out += fmt::format("<p class=\"soft\">{}</p>", escape(sentence.get<std::string>()));
  }
  return panel("rests-on", "What it rests on", out);
}

// Days and cost at one end of a lever beside the row in front.
struct LeverEnd {
  bool there = false;
  double days = 0, cost = 0;
};

double money_of(const Json& row) { return number_at(part_at(row, "cost"), "p50"); }

LeverEnd end_of(const Json& lever, const char* side, const Json& front) {
  const Json& end = part_at(lever, side);
  if (!end.is_object() || !flag_at(end, "fits")) return {};
  return {true, number_at(part_at(end, "days"), "p50") - number_at(part_at(front, "days"), "p50"),
          money_of(end) - money_of(front)};
}

std::string signed_text(double value, const std::string& amount) {
  return (value < 0.0 ? "−" : "+") + amount;
}

std::string change_text(const LeverEnd& end) {
  if (!end.there) return "no layout fits";
  std::string text = signed_text(end.days, short_number(std::abs(end.days)) + " days");
  if (end.cost != 0.0) text.append(", ").append(signed_text(end.cost, si_text(std::abs(end.cost))));
  return text;
}

std::string end_text(const Json& lever, const char* side, const Json& front) {
  const Json& end = part_at(lever, side);
  if (!end.is_object()) return "";
  return fmt::format("{}: {}", short_number(number_at(end, "value")),
                     change_text(end_of(lever, side, front)));
}

std::string levers_panel(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& front = front_row(capacity);
  TableRows rows;
  for (const Json& lever : part_at(capacity, "levers")) {
    if (rows.size() == kFewLevers) break;
    const std::string unit = text_at(lever, "unit");
    rows.push_back({fmt::format("{} {}{}", escape(text_at(lever, "label")),
                                short_number(number_at(lever, "value")),
                                unit.empty() ? "" : fmt::format(" {}", escape(unit))),
                    end_text(lever, "low", front), end_text(lever, "high", front)});
  }
  if (rows.empty()) return "";
  return panel(
      "levers", "What would change it",
      "<div data-fixed>" +
          table("Days and cost against the plan; what may be chosen with its own best layout",
                {{"today"}, {"less"}, {"more"}}, rows) +
          "</div>");
}

// The viewer puts its controls here; paper and pages without script have the sentence.
std::string what_if_panel(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& cells = part_at(part_at(capacity, "what_if"), "cells");
  if (cells.empty()) return "";
  return panel("what-if", "What if",
               fmt::format("<div id=\"what-if-controls\"></div><p>{} combinations of batch, GPUs, "
                           "network and failures stand in the record, each with the options that "
                           "make it again behind <code>{}</code>.</p>",
                           cells.size(), escape(text_at(capacity, "command"))));
}

}  // namespace

std::string first_screen(const Json& report) {
  const Json& decision = part_at(report, "decision");
  std::string out =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"verdict\" id=\"verdict\">{}</p>\n",
                  escape(text_at(decision, "subject")), escape(text_at(report, "verdict")));
  const std::string how = text_at(decision, "recommendation");
  if (!how.empty()) out += fmt::format("<p class=\"how\">{}</p>\n", escape(how));
  out += decision_table(decision);
  if (part_at(report, "summary").is_object()) {
    out += "<div class=\"panels\">\n" + certainty(report) + flags(report) + rests_on(report) +
           levers_panel(report) + what_if_panel(report) + "</div>\n";
  }
  return out + "</header>\n";
}

}  // namespace meshwright::reports::html
