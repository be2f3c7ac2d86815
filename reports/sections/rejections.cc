// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/records/parts.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"
#include "sim/rules/rules.h"

namespace meshwright::reports {
namespace {

using html::escape;

const Record<RejectionRow>& rejection_row_record() {
  return described([](Record<RejectionRow>& r) {
    using R = RejectionRow;
    r.about("Layouts that one rule rejected.");
    r.row<&R::rule>(rule_kind());
    r.row<&R::count>(kind::count());
    r.derived<std::string>("requirement", kind::text(), "What must hold.", [](const R& row) {
      return std::string(rule_text(row.rule).requirement);
    });
    r.derived<std::string>("reason", kind::text(), "Why, with its source.",
                           [](const R& row) { return std::string(rule_text(row.rule).reason); });
    r.row<&R::sentence>("Of the nearest miss.");
    r.row<&R::smallest_change>("That would admit it.");
    r.row<&R::example>("The nearest miss.");
    r.row<&R::needed>(kAnyNumber);
    r.row<&R::available>(kAnyNumber);
    r.named("RejectionRow").all_required();
  });
}

void rejections_rows(Record<Report>& r) {
  r.row<&Report::rejections>(rejection_row_record);
  r.row<&Report::statistics>(statistics_record);
}

void fill_rejections(Report& report, const ReportContents& contents) {
  report.statistics = contents.plan.statistics;
  report.rejections = rejections_of(contents.plan);
}

std::string rejections_page(const Report& report) {
  if (report.rejections.empty()) return "";
  const planner::SearchStatistics& statistics = report.statistics;
  return html::section(
      "rejections", "Rejected layouts",
      html::paragraph(fmt::format("{} layouts were evaluated: {} are valid and {} fit in memory.",
                                  count_text(statistics.enumerated), count_text(statistics.legal),
                                  count_text(statistics.fitting))) +
          html::table("Rejected layouts by rule", rejections_table(report.rejections)) +
          "<p class=\"mix\"><code>meshwright explain RULE</code> prints the reason and the source "
          "of a rule. A layout is counted under the first rule that it breaks.</p>\n");
}

}  // namespace

std::vector<RejectionRow> rejections_of(const planner::Plan& plan) {
  std::vector<RejectionRow> rows;
  for (const planner::Rejection& r : plan.rejections) {
    rows.push_back({.rule = r.rule,
                    .count = r.count,
                    .sentence = r.sentence,
                    .smallest_change = r.smallest_change,
                    .example = short_name(r.nearest.layout),
                    .needed = r.nearest.violation.needed,
                    .available = r.nearest.violation.available});
  }
  return rows;
}

extern const ReportSection kRejectionsSection;
constexpr ReportSection kRejectionsSection{.rows = rejections_rows,
                                           .fill = fill_rejections,
                                           .page = rejections_page,
                                           .id = "rejections",
                                           .word = "Rejected"};

}  // namespace meshwright::reports
