// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/comparison_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

// The terms of one side, as a bar.
std::vector<Segment> segments(const Json& terms, const char* side) {
  std::vector<Segment> all;
  for (const Json& term : terms) {
    const double time = number_at(term, side);
    all.push_back(
        {text_at(term, "name"), time,
         fmt::format("{}: {}", spoken(text_at(term, "name")), seconds_text(seconds(time)))});
  }
  return all;
}

double total(const std::vector<Segment>& parts) {
  double sum = 0.0;
  for (const Segment& part : parts) sum += part.value;
  return sum;
}

std::string step_bars(const Json& terms) {
  const auto before = segments(terms, "before");
  const auto after = segments(terms, "after");
  const double longest = std::max(total(before), total(after));
  std::vector<std::string> names;
  for (const Segment& segment : before) names.push_back(segment.name);
  const auto row = [&](const char* name, const std::vector<Segment>& parts) {
    return TableRow{name, bar(parts, longest), seconds_text(seconds(total(parts)))};
  };
  return "<div class=\"bars\">" +
         table("Step time of the winners", {{"report"}, {"terms"}, {"step", true}},
               {row("before", before), row("after", after)}) +
         "</div>" + legend(names);
}

}  // namespace

std::string comparison_headline(const Json& comparison) {
  std::string out = fmt::format(
      "<header>\n<h1>{} compared with {}</h1>\n<p class=\"verdict\">{}</p>\n",
      escape(text_at(comparison["after"], "title")), escape(text_at(comparison["before"], "title")),
      escape(text_at(comparison, "sentence")));
  out += "<dl class=\"tiles\">\n";
  for (const char* side : {"before", "after"}) {
    out += fmt::format("<div class=\"tile\"><dt>{}</dt><dd>{}</dd></div>\n", side,
                       escape(text_at(comparison[side], "verdict")));
  }
  return out + "</dl>\n</header>\n";
}

std::string comparison(const Json& comparison) {
  std::string body;
  const Json& terms = comparison["terms_seconds"];
  if (!terms.empty()) body += section("step-time", "Where the time goes", step_bars(terms));
  std::string tables;
  for (const Table& each : comparison_tables(comparison)) tables += table(each);
  body += section("changes", "What changed", tables);
  TableRows rows;
  for (const Json& input : comparison["inputs"]) {
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
