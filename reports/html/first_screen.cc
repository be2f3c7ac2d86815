// SPDX-License-Identifier: Apache-2.0
// What a capacity review looks at first, and prints as one page: how many GPUs, done when, for how
// much, how sure, what could go wrong, what would change it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/decision_table_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/hardware/device_noun.h"

namespace meshwright::reports::html {
namespace {

constexpr std::size_t kFewFlags = 3;
constexpr std::size_t kFewLevers = 5;

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

// Of the whole training, or of a step where nobody stated its tokens.
std::string flag_effect(const Json& flag, double steps) {
  if (!part_at(flag, "effect_seconds").is_number()) {
    return memory_text(bytes(number_at(flag, "effect_bytes")));
  }
  const Seconds effect = seconds(number_at(flag, "effect_seconds"));
  return steps == 1.0 ? seconds_text(effect) + " per step" : duration_text(effect * steps);
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

std::string lever_amount(const Json& input) {
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
                         lever_amount(input), badge(text_at(input, "provenance")),
                         number_at(input, "relative_spread") * 100.0);
  }
  std::string out = "<ul>" + items + "</ul>";
  for (const Json& sentence : part_at(report, "left_out")) {
    out += fmt::format("<p class=\"soft\">{}</p>", escape(sentence.get<std::string>()));
  }
  return panel("rests-on", "What it rests on", out);
}

double median_at(const Json& row, const char* key) { return number_at(part_at(row, key), "p50"); }

std::string signed_text(double value, const std::string& amount) {
  return (value < 0.0 ? "−" : "+") + amount;
}

// Against the row in front: days and cost, or where nobody stated the tokens the step's time and
// tokens a second.
std::string lever_change_text(const Json& end, const Json& front, bool tokens_stated) {
  if (!flag_at(end, "fits")) return "no layout fits";
  if (!tokens_stated) {
    const double more = median_at(end, "effective_tokens_per_second") /
                            median_at(front, "effective_tokens_per_second") -
                        1.0;
    const double step = number_at(part_at(end, "step_s"), "mid");
    return fmt::format("{}, step {}",
                       signed_text(more, fmt::format("{:.1f} %", std::abs(more) * 100.0)),
                       seconds_text(seconds(step)));
  }
  const double days = median_at(end, "days") - median_at(front, "days");
  std::string text = signed_text(days, duration_text(seconds(std::abs(days) * 86400.0)));
  const double cost = median_at(end, "cost") - median_at(front, "cost");
  if (cost != 0.0) text.append(", ").append(signed_text(cost, si_text(std::abs(cost))));
  return text;
}

std::string end_text(const Json& lever, const char* side, const Json& capacity) {
  const Json& end = part_at(lever, side);
  if (!end.is_object()) return "";
  return fmt::format(
      "{}: {}", short_number(number_at(end, "value")),
      lever_change_text(end, front_row(capacity), flag_at(capacity, "tokens_stated")));
}

std::string levers_panel(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  TableRows rows;
  for (const Json& lever : part_at(capacity, "levers")) {
    if (rows.size() == kFewLevers) break;
    const std::string unit = text_at(lever, "unit");
    rows.push_back({fmt::format("{} {}{}", escape(text_at(lever, "label")),
                                short_number(number_at(lever, "value")),
                                unit.empty() ? "" : fmt::format(" {}", escape(unit))),
                    end_text(lever, "low", capacity), end_text(lever, "high", capacity)});
  }
  if (rows.empty()) return "";
  const char* caption = flag_at(capacity, "tokens_stated")
                            ? "Days and cost against the plan; a choice with its own best layout"
                            : "Tokens/s against the plan; a choice with its own best layout";
  return panel(
      "levers", "What would change it",
      "<div data-fixed>" + table(caption, {{"today"}, {"less"}, {"more"}}, rows) + "</div>");
}

// The viewer puts its controls here; paper and pages without script have the sentence.
std::string what_if_panel(const Json& report) {
  const Json& capacity = part_at(report, "capacity");
  const Json& cells = part_at(part_at(capacity, "what_if"), "cells");
  if (cells.empty()) return "";
  return panel(
      "what-if", "What if",
      fmt::format("<div id=\"what-if-controls\"></div><p>{} combinations of batch, {}, "
                  "network and failures stand in the record, each with the options that "
                  "make it again behind <code>{}</code>.</p>",
                  cells.size(), device_noun(report, 2), escape(text_at(capacity, "command"))));
}

}  // namespace

std::string_view device_noun(const Json& report, std::int64_t count) {
  const bool cores = text_at(part_at(report, "cluster"), "device_kind") == name_of(DeviceKind::cpu);
  return meshwright::device_noun(cores ? DeviceKind::cpu : DeviceKind::gpu, count);
}

std::string first_screen(const Json& report) {
  const Json& decision = part_at(report, "decision");
  std::string out =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"verdict\" id=\"verdict\">{}</p>\n",
                  escape(text_at(decision, "subject")), escape(text_at(report, "verdict")));
  const std::string how = text_at(decision, "recommendation");
  if (!how.empty()) out += fmt::format("<p class=\"how\">{}</p>\n", escape(how));
  out += decision_table(report);
  const std::string cost = text_at(front_row(part_at(report, "capacity")), "cost_explanation");
  if (!cost.empty()) out += paragraph("Median cost: " + cost + ".");
  if (part_at(report, "summary").is_object()) {
    out += "<div class=\"panels\">\n" + certainty(report) + flags(report) + rests_on(report) +
           levers_panel(report) + what_if_panel(report) + "</div>\n";
  }
  return out + "</header>\n";
}

}  // namespace meshwright::reports::html
