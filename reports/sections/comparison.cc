// SPDX-License-Identifier: Apache-2.0
#include "reports/sections/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/records/comparison_text.h"
#include "reports/sections/comparison_charts.h"
#include "reports/sections/section_parts.h"
#include "reports/tables/comparison_tables.h"
#include "reports/text/text.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

namespace meshwright::reports {
namespace {

using html::escape;

struct Bar {
  std::string name;
  std::vector<html::Segment> segments;
  double total = 0.0;
};

// One bar a report: what the rows hold of it.
template <typename Text>
std::vector<Bar> bars_of(const Comparison& comparison, const std::vector<ComparedRow>& rows,
                         const Text& text) {
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < comparison.reports.size(); ++i) {
    Bar made{comparison.reports[i].name, {}, 0.0};
    for (const ComparedRow& row : rows) {
      const double amount = row.values.each[i].value_or(0.0);
      made.segments.push_back(
          {row.name, amount, fmt::format("{}: {}", spoken(row.name), text(amount))});
      made.total += amount;
    }
    bars.push_back(std::move(made));
  }
  return bars;
}

template <typename Text>
std::string bars_table(std::string_view caption, const std::vector<Bar>& bars, const Text& text) {
  double longest = 0.0;
  std::vector<std::string> names;
  for (const Bar& one : bars) longest = std::max(longest, one.total);
  for (const html::Segment& segment : bars.front().segments) names.push_back(segment.name);
  html::TableRows rows;
  for (const Bar& one : bars) {
    rows.push_back({escape(one.name), html::bar(one.segments, longest), text(one.total)});
  }
  return "<div class=\"bars\">" +
         html::table(caption, {{"report"}, {"parts"}, {"in all", true}}, rows) + "</div>" +
         html::legend(names);
}

std::string time_text(double time) { return seconds_text(seconds(time)); }
std::string bytes_text(double amount) { return memory_text(bytes(amount)); }

std::string steps(const Comparison& comparison) {
  if (comparison.terms.empty()) return "";
  return html::section(
      "step-time", "Where the time goes",
      html::figure("compared_steps",
                   "Step time of each report's best layout, split into its terms. Line: 90 % "
                   "interval.",
                   bars_table("Step time of the best layouts",
                              bars_of(comparison, comparison.terms, time_text), time_text)));
}

std::string memory_bars(const Comparison& comparison) {
  if (comparison.fullest_stage.empty()) return "";
  const std::string_view noun = device_noun(comparison);
  const std::string heading = fmt::format("Memory of the {} with the highest use", noun);
  const std::vector<Bar> bars = bars_of(comparison, comparison.fullest_stage, bytes_text);
  return html::section(
      "memory", heading,
      html::figure(
          "compared_memory",
          fmt::format("Memory of the {} with the highest use, for each best layout.", noun),
          bars_table(heading, bars, bytes_text)));
}

std::string ranges() {
  return html::section(
      "ranges", "Time, cost and speed with their ranges",
      html::figure("compared_ranges",
                   "Time to train, cost and tokens per second of each report. Whiskers: ends of "
                   "the ranges. The first table below has the same numbers."));
}

std::string side_by_side(const Comparison& comparison) {
  std::string text;
  for (const Table& each : comparison_tables(comparison)) text += html::table(each);
  return html::section("changes", "Side by side", differences_chart(comparison) + text);
}

std::string reproduce(const Origin& origin) {
  html::TableRows rows;
  for (const InputFile& input : origin.inputs) {
    rows.push_back({escape(input.name), escape(input.file),
                    fmt::format("<code class=\"hash\">{}</code>", escape(input.sha256))});
  }
  return html::section("provenance", "Reproduce",
                       fmt::format("<p>meshwright {}: <code>{}</code></p>\n",
                                   escape(origin.tool_version), escape(origin.command)) +
                           html::table("Inputs", {{"report"}, {"file"}, {"SHA-256"}}, rows));
}

}  // namespace

std::string comparison_headline(const Comparison& comparison) {
  std::string names;
  for (const ComparedFacts& report : comparison.reports) {
    append_to_list(names, " · ", escape(report.name));
  }
  std::string out =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n<dl class=\"tiles\">\n",
                  names, escape(comparison_sentence(comparison)));
  for (const ComparedFacts& report : comparison.reports) {
    out += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n",
                       escape(report.name + ": " + report.title), escape(report.verdict));
  }
  return out + "</dl>\n</header>\n";
}

std::string comparison_page_body(const Comparison& comparison) {
  return ranges() + steps(comparison) + memory_bars(comparison) + side_by_side(comparison) +
         reproduce(comparison.origin);
}

}  // namespace meshwright::reports
