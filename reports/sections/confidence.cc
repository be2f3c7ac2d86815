// SPDX-License-Identifier: Apache-2.0
// Answers of a plan beyond its ranking, and the page's part about the confidence in the ranking.
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_registry.h"
#include "reports/text/text.h"

namespace meshwright::reports {
namespace {

void answers_rows(Record<Report>& r) {
  r.row<&Report::answers>(
      nullable(report_answers_record),
      "Confidence, sensitivity, crossovers and what-ifs of the plan; null when it was made "
      "without. Its scaling and placement are the report's own.");
}

void fill_answers(Report& report, const ReportContents& contents) {
  report.answers = contents.answers;
}

std::string finding(const ConfidenceFacts& confidence) {
  return html::paragraph(fmt::format(
      "{} Its step time is known to ± {} (1 sigma). Most of this error is common to all layouts.",
      confidence.sentence, percent_text(confidence.relative_deviation)));
}

std::string against_table(const ConfidenceFacts& confidence) {
  html::TableRows rows;
  for (const AgainstFacts& a : confidence.against) {
    rows.push_back(
        {fmt::format("{}", a.rank), html::layout_code(a.short_name, a.brief_name),
         fmt::format("{:.1f}", a.probability_winner_is_faster * 100.0),
         significant(a.difference.value() * 1e3), "± " + significant(a.deviation.value() * 1e3),
         significant(a.correlation, 2),
         a.runs_to_settle > 0 ? fmt::format("{}", a.runs_to_settle) : "too close to matter"});
  }
  return html::table("Layout #1 compared with each runner-up",
                     {{"#", true},
                      {"runner-up"},
                      {"#1 faster, %", true},
                      {"slower by, ms", true},
                      {"1σ of that, ms", true},
                      {"correlation of their errors", true},
                      {"runs of each to settle", true}},
                     rows);
}

std::string proposed(const std::vector<ProposedRunFacts>& runs) {
  if (runs.empty()) {
    return "<p>No run would change the choice by an amount that matters.</p>\n";
  }
  html::TableRows rows;
  for (const ProposedRunFacts& run : runs) {
    rows.push_back({fmt::format("{}", run.rank), html::layout_code(run.short_name, run.brief_name),
                    fmt::format("{}", run.runs), html::escape(run.reason)});
  }
  return html::table("Runs that decide between layouts (meshwright trial)",
                     {{"#", true}, {"layout"}, {"runs", true}, {"why"}}, rows);
}

std::string confidence_page(const Report& report) {
  if (!report.answers || !report.answers->confidence) return "";
  const ConfidenceFacts& confidence = *report.answers->confidence;
  if (confidence.against.empty()) return "";
  return html::section(
      "confidence", "Confidence in the ranking",
      finding(confidence) +
          html::figure("confidence",
                       "How much slower each runner-up is than layout #1, and with which "
                       "probability. Bars: 90 % interval of the difference. Below zero the "
                       "runner-up is faster.") +
          html::numbers("Layout #1 compared with each runner-up", against_table(confidence)) +
          proposed(confidence.proposed_runs));
}

}  // namespace

extern const ReportSection kConfidenceSection;
constexpr ReportSection kConfidenceSection{.rows = answers_rows,
                                           .fill = fill_answers,
                                           .page = confidence_page,
                                           .id = "confidence",
                                           .word = "Confidence",
                                           .charts = "confidence"};

}  // namespace meshwright::reports
