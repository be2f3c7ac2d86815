// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "reports/html/drawing_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

constexpr std::size_t kMostRows = 200;  // of a table; the record has all, and the viewer shows them

// The layouts that were asked for; what else the plan keeps follows them.
Json top_of(const Json& report) {
  const Json& ranked = report["ranked"];
  Json top = Json::array();
  for (std::size_t i = 0;
       i < ranked.size() && i < kMostBars && i < report["top"].get<std::size_t>(); ++i) {
    top.push_back(ranked[i]);
  }
  return top;
}

std::vector<std::string> used_terms(const Json& ranked) {
  std::vector<std::string> names;
  for (const Json& entry : ranked) {
    for (const Json& term : entry["terms"]) {
      const std::string name = text_at(term, "name");
      const bool known = std::find(names.begin(), names.end(), name) != names.end();
      const bool seen =
          number_at(term, "seconds") > kSeenShare * number_at(entry, "step_time_seconds");
      if (seen && !known) names.push_back(name);
    }
  }
  return names;
}

std::string bars(const Json& ranked) {
  double longest = 0.0;
  for (const Json& entry : ranked) {
    longest = std::max(longest, number_at(entry, "step_time_seconds"));
  }
  TableRows rows;
  for (const Json& entry : ranked) {
    std::vector<Segment> segments;
    for (const Json& term : entry["terms"]) {
      const double time = number_at(term, "seconds");
      segments.push_back(
          {text_at(term, "name"), time,
           fmt::format("{}: {}", spoken(text_at(term, "name")), seconds_text(seconds(time)))});
    }
    rows.push_back(
        {fmt::format("#{} {}", entry["rank"].get<int>(), escape(text_at(entry, "brief_name"))),
         bar(segments, longest), seconds_text(seconds(number_at(entry, "step_time_seconds")))});
  }
  return "<div class=\"bars\">" +
         table("Step time of the ranked layouts", {{"layout"}, {"terms"}, {"step", true}}, rows) +
         "</div>" + legend(used_terms(ranked));
}

std::string terms_table(const Json& best) {
  const double step = number_at(best, "step_time_seconds");
  TableRows rows;
  for (const Json& term : best["terms"]) {
    const double time = number_at(term, "seconds");
    if (time == 0.0) continue;
    rows.push_back({escape(spoken(text_at(term, "name"))), significant(time * 1e3),
                    time < kSeenShare * step ? "< 0.01" : significant(time / step * 100.0, 3),
                    "± " + significant(number_at(term, "relative_spread") * 100.0, 2),
                    badge(text_at(term, "provenance"))});
  }
  rows.push_back({"step", significant(step * 1e3), "100", "", ""});
  return table("Step time of the winner, term by term",
               {{"term"}, {"time, ms", true}, {"share, %", true}, {"1σ, %", true}, {"source"}},
               rows);
}

std::string interval_of(const Json& entry) {
  return significant(number_at(entry, "step_time_low_seconds")) + " – " +
         significant(number_at(entry, "step_time_high_seconds"));
}

constexpr std::size_t kNameColumn = 1;
constexpr std::size_t kSourceColumn = 8;

// As HTML: the name with the full one under the mouse, the weakest provenance before its share.
TableRow ranking_row(const Json& entry) {
  const auto texts = ranking_texts(entry);
  TableRow row;
  for (const std::string& text : texts) row.emplace_back(escape(text));
  row[kNameColumn] = layout_code(entry);
  row[kSourceColumn] = {badge(text_at(entry, "provenance")) + " " + texts[kSourceColumn],
                        number_at(entry, "provenance_share")};
  return row;
}

std::string ranked_rows_table(std::string_view caption, const Json& report, std::size_t begin,
                              std::size_t end) {
  const Json& ranked = report["ranked"];
  const std::vector<Heading> headings{{"rank", true},
                                      {"layout"},
                                      {"step, s", true},
                                      {"90 % interval, s", true},
                                      {"slower than best, %", true},
                                      {fmt::format("tokens/s/{}", device_noun(report)), true},
                                      {"MFU, %", true},
                                      {"peak memory, GiB", true},
                                      {"weakest source, share of the step"},
                                      {"Pareto"},
                                      {"why it beats the next"}};
  std::string rows;
  for (std::size_t i = begin; i < end; ++i) {
    rows += table_row(headings, ranking_row(ranked[i]),
                      fmt::format(" id=\"layout-{}\"", ranked[i]["rank"].get<int>()));
  }
  return table_of_rows(caption, headings, rows);
}

}  // namespace

std::array<std::string, 11> ranking_texts(const Json& entry) {
  return {fmt::format("{:.0f}", number_at(entry, "rank")),
          text_at(entry, "brief_name"),
          significant(number_at(entry, "step_time_seconds")),
          interval_of(entry),
          fmt::format("{:+.1f}", (number_at(entry, "relative_to_best") - 1.0) * 100.0),
          significant(number_at(entry, "tokens_per_second_per_gpu")),
          fmt::format("{:.1f}", number_at(entry, "model_flops_utilization") * 100.0),
          significant(in_gibibytes(bytes(number_at(entry, "peak_memory_bytes"))), 3),
          fmt::format("{:.0f} %", number_at(entry, "provenance_share") * 100.0),
          flag_at(entry, "pareto") ? "yes" : "",
          text_at(part_at(entry, "compared_with_next"), "sentence")};
}

std::string step_time(const Json& report) {
  const Json& ranked = report["ranked"];
  if (ranked.empty()) return "";
  return section("step-time", "Where the time goes",
                 figure("step_time", "Step time of the ranked layouts, split into its terms.",
                        bars(top_of(report))) +
                     terms_table(ranked.front()));
}

std::string ranking(const Json& report) {
  const Json& ranked = report["ranked"];
  if (ranked.empty()) return "";
  const auto top = report["top"].get<std::size_t>();
  std::string body =
      ranked_rows_table("The fastest layouts that fit", report, 0, std::min(top, kMostRows));
  body +=
      "<p class=\"mix\">Overlap switches, and whether embedding and loss count as layers of the "
      "split, are left out of the names here; the record and the launch files have them.</p>\n";
  const Json& robust = part_at(part_at(report, "answers"), "robust_pick");
  if (robust.is_object()) {
    body += fmt::format("<p id=\"robust-pick\">{}</p>\n", escape(text_at(robust, "sentence")));
  }
  if (top < ranked.size()) {
    const std::size_t end = std::min(ranked.size(), top + kMostRows);
    body += details(fmt::format("{} more layouts: the next fastest, and slower ones that need less "
                                "memory",
                                ranked.size() - top),
                    ranked_rows_table("Layouts that the plan keeps besides", report, top, end));
  }
  return section("ranking", "Ranking",
                 body + figure("pareto",
                               "Step time against peak memory of the ranked layouts. A dark rim: "
                               "nothing is faster and smaller. Circle: nothing is recomputed, "
                               "triangle: attention, square: all. The whiskers are the 90 % "
                               "interval."));
}

}  // namespace meshwright::reports::html
