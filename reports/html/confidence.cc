// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

std::string finding(const Json& confidence) {
  return fmt::format(
      "<p>Of the first {} layouts the winner is the fastest with {} probability. Its expected loss "
      "against the fastest layout is {} of a step. Its own step time may be "
      "off by {} (one standard deviation), but most of that is common to all layouts and cancels "
      "between them.</p>\n",
      part_at(confidence, "against").size() + 1,
      percent_text(number_at(confidence, "probability_best")),
      percent_text(number_at(confidence, "expected_regret")),
      percent_text(number_at(confidence, "relative_deviation")));
}

std::string runs_text(const Json& against) {
  const double runs = number_at(against, "runs_to_settle");
  return runs > 0.0 ? fmt::format("{:.0f}", runs) : "too close to matter";
}

std::string against_table(const Json& confidence) {
  TableRows rows;
  for (const Json& a : part_at(confidence, "against")) {
    rows.push_back({fmt::format("{:.0f}", number_at(a, "rank")), layout_code(a),
                    fmt::format("{:.1f}", number_at(a, "probability_winner_is_faster") * 100.0),
                    significant(number_at(a, "difference_seconds") * 1e3),
                    "± " + significant(number_at(a, "deviation_seconds") * 1e3),
                    significant(number_at(a, "correlation"), 2), runs_text(a)});
  }
  return table("The winner against each runner-up",
               {{"rank", true},
                {"runner-up"},
                {"winner faster, %", true},
                {"slower by, ms", true},
                {"1σ of that, ms", true},
                {"correlation of their errors", true},
                {"runs of each to settle", true}},
               rows);
}

std::string proposed(const Json& runs) {
  if (runs.empty())
    return "<p>No real run would change the choice by an amount that matters.</p>\n";
  TableRows rows;
  for (const Json& run : runs) {
    rows.push_back({fmt::format("{:.0f}", number_at(run, "rank")), layout_code(run),
                    fmt::format("{:.0f}", number_at(run, "runs")), escape(text_at(run, "reason"))});
  }
  return table("Real runs that would settle it (meshwright trial)",
               {{"rank", true}, {"layout"}, {"runs", true}, {"why"}}, rows);
}

}  // namespace

std::string confidence(const Json& report) {
  const Json& answers = part_at(report, "answers");
  if (!answers.is_object() || !part_at(answers, "confidence").is_object()) return "";
  const Json& confidence = part_at(answers, "confidence");
  if (part_at(confidence, "against").empty()) return "";
  return section("confidence", "How sure is the ranking?",
                 finding(confidence) +
                     figure("confidence",
                            "How much slower each runner-up is than the winner, and how probably "
                            "it is slower at all. The bars are the 90 % interval of the "
                            "difference; below zero the runner-up wins.") +
                     numbers("The winner against each runner-up", against_table(confidence)) +
                     proposed(part_at(confidence, "proposed_runs")));
}

}  // namespace meshwright::reports::html
