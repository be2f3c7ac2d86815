// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/comparison_json.h"
#include "reports/comparison_text.h"
#include "reports/html/drawing_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"
#include "sim/base/text.h"

namespace meshwright::reports::html {
namespace {

struct Bar {
  std::string name;
  std::vector<Segment> segments;
  double total = 0.0;
};

// One bar a report: what `part` of the comparison holds of it.
template <typename Text>
std::vector<Bar> bars_of(const Json& comparison, const char* part, const Text& text) {
  std::vector<Bar> bars;
  const Json& reports = part_at(comparison, "reports");
  for (std::size_t i = 0; i < reports.size(); ++i) {
    Bar made{text_at(reports[i], "name"), {}, 0.0};
    for (const Json& row : part_at(comparison, part)) {
      const Json& value = part_at(row, "values")[i];
      const double amount = value.is_number() ? value.template get<double>() : 0.0;
      const std::string name = text_at(row, "name");
      made.segments.push_back({name, amount, fmt::format("{}: {}", spoken(name), text(amount))});
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
  for (const Segment& segment : bars.front().segments) names.push_back(segment.name);
  TableRows rows;
  for (const Bar& one : bars) {
    rows.push_back({escape(one.name), bar(one.segments, longest), text(one.total)});
  }
  return "<div class=\"bars\">" + table(caption, {{"report"}, {"parts"}, {"in all", true}}, rows) +
         "</div>" + legend(names);
}

std::string time_text(double time) { return seconds_text(seconds(time)); }
std::string bytes_text(double amount) { return memory_text(bytes(amount)); }

std::string tables(const Json& comparison) {
  std::string text;
  for (const Table& each : comparison_tables(comparison)) text += table(each);
  return text;
}

std::string steps(const Json& comparison) {
  if (part_at(comparison, "terms_seconds").empty()) return "";
  return section(
      "step-time", "Where the time goes",
      figure("compared_steps",
             "Step time of each report's best layout, split into its terms; the line is its 90 % "
             "interval.",
             bars_table("Step time of the best layouts",
                        bars_of(comparison, "terms_seconds", time_text), time_text)));
}

std::string memory_bars(const Json& comparison) {
  if (part_at(comparison, "fullest_stage_bytes").empty()) return "";
  const std::string_view noun = reports::device_noun(comparison);
  const std::string heading = fmt::format("Memory of the fullest {}", noun);
  return section(
      "memory", heading,
      figure(
          "compared_memory", fmt::format("What the fullest {} of each best layout holds.", noun),
          bars_table(heading, bars_of(comparison, "fullest_stage_bytes", bytes_text), bytes_text)));
}

std::string ranges() {
  return section("ranges", "Time, cost and speed with their ranges",
                 figure("compared_ranges",
                        "Each report's time to train, cost and tokens a second, the ends of their "
                        "ranges as whiskers; the same numbers stand in the first table below."));
}

}  // namespace

std::string comparison_headline(const Json& comparison) {
  std::string names;
  const Json& reports = part_at(comparison, "reports");
  for (const Json& report : reports) {
    append_to_list(names, " · ", escape(text_at(report, "name")));
  }
  std::string out =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n<dl class=\"tiles\">\n",
                  names, escape(text_at(comparison, "sentence")));
  for (const Json& report : reports) {
    out += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n",
                       escape(text_at(report, "name") + ": " + text_at(report, "title")),
                       escape(text_at(report, "verdict")));
  }
  return out + "</dl>\n</header>\n";
}

std::string comparison(const Json& comparison) {
  std::string body = ranges() + steps(comparison) + memory_bars(comparison);
  body += section("changes", "Side by side", tables(comparison));
  TableRows rows;
  for (const Json& input : part_at(comparison, "inputs")) {
    rows.push_back(
        {escape(text_at(input, "name")), escape(text_at(input, "file")),
         fmt::format("<code class=\"hash\">{}</code>", escape(text_at(input, "sha256")))});
  }
  return body + section("provenance", "Reproduce",
                        fmt::format("<p>meshwright {}: <code>{}</code></p>\n",
                                    escape(text_at(comparison, "tool_version")),
                                    escape(text_at(comparison, "command"))) +
                            table("Inputs", {{"report"}, {"file"}, {"SHA-256"}}, rows));
}

}  // namespace meshwright::reports::html
