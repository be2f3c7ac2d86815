// SPDX-License-Identifier: Apache-2.0
// What stands above the sections: the decision, and below it how sure it is, what could go wrong
// and what would change it.
#include "reports/sections/first_screen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/decision_page.h"
#include "reports/sections/decision_table.h"
#include "reports/sections/section_parts.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

using html::escape;

constexpr std::size_t kFewFlags = 3;
constexpr std::size_t kFewLevers = 5;

std::string panel(std::string_view id, std::string_view heading, const std::string& body) {
  return fmt::format("<div class=\"panel\" id=\"{}\"><h2>{}</h2>\n{}</div>\n", id, escape(heading),
                     body);
}

// Names the calibration level of the interval, and how to narrow it.
std::string regime_item(const Summary& summary) {
  const std::string& narrowed = summary.interval_narrowed_by;
  return fmt::format("<li><b>Ranges:</b> calibration level “{}”.{}</li>\n",
                     escape(spoken(name_of(summary.interval_regime))),
                     narrowed.empty() ? "" : " To narrow them: " + escape(narrowed) + ".");
}

std::string certainty_panel(const Report& report) {
  std::string items;
  for (const CertaintyItem& item : report.certainty) {
    items += fmt::format("<li><b>{}:</b> {}</li>\n", escape(item.label), escape(item.text));
  }
  return panel("certainty", "Confidence", "<ul>" + items + regime_item(*report.summary) + "</ul>");
}

std::string flags_panel(const Report& report) {
  const auto flags = report.answers ? report.answers->red_flags : std::vector<RedFlagFacts>{};
  const std::size_t shown = std::min(flags.size(), kFewFlags);
  std::string items;
  for (std::size_t i = 0; i < shown; ++i) {
    items += fmt::format("<li><b>{} ({}):</b> {}</li>\n", escape(spoken(name_of(flags[i].id))),
                         flag_effect(flags[i], train_steps(report)), escape(flags[i].sentence));
  }
  std::string body = items.empty() ? "<p>No red flag.</p>" : "<ul>" + items + "</ul>";
  if (flags.size() > shown) {
    body += fmt::format("<p><a href=\"#all-red-flags\">{} more</a></p>", flags.size() - shown);
  }
  return panel("red-flags", "Red flags", body);
}

std::string input_text(const RestsOn& input) {
  if (input.unit.empty()) return percent_text(input.value);
  return fmt::format("{} {}", significant(input.value, 3), input.unit == "us" ? "µs" : input.unit);
}

std::string rests_on_panel(const Report& report) {
  std::string items;
  for (const RestsOn& input : report.rests_on) {
    items += fmt::format("<li title=\"{}\">{} {} {} ±{:.0f} %</li>\n", escape(input.source),
                         escape(input.label), input_text(input),
                         html::badge(name_of(input.provenance)), input.relative_spread * 100.0);
  }
  std::string out = "<ul>" + items + "</ul>";
  for (const std::string& sentence : report.left_out) {
    out += fmt::format("<p class=\"soft\">{}</p>", escape(sentence));
  }
  return panel("rests-on", "Key inputs", out);
}

std::string signed_text(double value, const std::string& amount) {
  return (value < 0.0 ? "−" : "+") + amount;
}

double median_cost(const RunFacts& run) { return run.cost ? run.cost->p50 : 0.0; }

// Against the row in front: days and cost, or where nobody stated the tokens the step's time and
// tokens a second.
std::string lever_change_text(const LeverEnd& end, const CapacityRow& front, bool tokens_stated) {
  if (!end.fits) return "no layout fits";
  if (!tokens_stated) {
    const double more =
        end.effective_tokens_per_second.p50 / front.effective_tokens_per_second.p50 - 1.0;
    return fmt::format("{}, step {}",
                       signed_text(more, fmt::format("{:.1f} %", std::abs(more) * 100.0)),
                       seconds_text(end.step.mid));
  }
  const double days = end.days.p50 - front.days.p50;
  std::string text = signed_text(days, duration_text(seconds(std::abs(days) * 86400.0)));
  const double cost = median_cost(end) - median_cost(front);
  if (cost != 0.0) text.append(", ").append(signed_text(cost, si_text(std::abs(cost))));
  return text;
}

std::string lever_end_text(const std::optional<LeverEnd>& end, const Capacity& capacity) {
  if (!end) return "";
  return fmt::format("{}: {}", short_number(end->value),
                     lever_change_text(*end, *capacity.front(), capacity.tokens_stated));
}

std::string levers_panel(const Capacity& capacity) {
  if (capacity.front() == nullptr) return "";
  html::TableRows rows;
  for (const Lever& lever : capacity.levers) {
    if (rows.size() == kFewLevers) break;
    rows.push_back({fmt::format("{} {}{}", escape(lever.label), short_number(lever.value),
                                lever.unit.empty() ? "" : " " + escape(lever.unit)),
                    lever_end_text(lever.low, capacity), lever_end_text(lever.high, capacity)});
  }
  if (rows.empty()) return "";
  const char* caption =
      capacity.tokens_stated
          ? "Change in days and cost relative to the marked row. GPU and batch rows use the best "
            "layout for each value"
          : "Change in tokens/s relative to the marked row. GPU and batch rows use the best "
            "layout for each value";
  return panel("levers", "Levers",
               "<div data-fixed>" +
                   html::table(caption, {{"current value"}, {"less"}, {"more"}}, rows) + "</div>");
}

// The viewer puts its controls here; paper and pages without script have the sentence.
std::string what_if_panel(const Report& report) {
  const Capacity& capacity = report.capacity;
  if (!capacity.what_if || capacity.what_if->cells.empty()) return "";
  return panel(
      "what-if", "Precomputed scenarios",
      fmt::format("<div id=\"what-if-controls\"></div><p>This report stores {} precomputed "
                  "scenarios (batch, {}, network, failure rate). To reproduce one, append "
                  "its options to <code>{}</code>.</p>",
                  capacity.what_if->cells.size(), device_noun(report, 2),
                  escape(capacity.command)));
}

}  // namespace

double train_steps(const Report& report) {
  if (!report.decision.tokens_are_the_jobs) return 1.0;
  const double each = report.summary ? report.summary->tokens_per_step : 0.0;
  return each > 0.0 ? std::ceil(report.decision.train_tokens / each) : 0.0;
}

std::string flag_effect(const RedFlagFacts& flag, double steps) {
  if (!flag.effect_time) return memory_text(flag.effect_memory.value_or(Bytes()));
  const Seconds effect = *flag.effect_time;
  return steps == 1.0 ? seconds_text(effect) + " per step" : duration_text(effect * steps);
}

std::string first_screen(const Report& report, const std::string& hash) {
  const Decision& decision = report.decision;
  std::string out = decision_header({.capacity = report.capacity,
                                     .kind = report.cluster.device_kind,
                                     .subject = decision.subject,
                                     .verdict = report.verdict,
                                     .note = decision.recommendation,
                                     .hash = hash});
  if (report.summary) {
    out += "<div class=\"panels\">\n" + certainty_panel(report) + flags_panel(report) +
           rests_on_panel(report) + levers_panel(report.capacity) + what_if_panel(report) +
           "</div>\n";
  }
  return out;
}

}  // namespace meshwright::reports
