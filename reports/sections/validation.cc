// SPDX-License-Identifier: Apache-2.0
// Predicted beside measured, of the layouts that were run.
#include "reports/records/validation.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

using planner::LayoutComparison;

void validation_rows(Record<Report>& r) {
  r.row<&Report::validation>(nullable(report_validation_record));
}

void fill_validation(Report& report, const ReportContents& contents) {
  report.validation = contents.validation;
}

std::string planned_name(const LayoutComparison& run) {
  return fmt::format("<code>{}</code>", html::escape(short_name(run.observation.layout)));
}

std::string run_name(const LayoutComparison& run) {
  return fmt::format("<code>{}</code>", html::escape(short_name(run.observation.run_layout)));
}

std::string milliseconds_text(Seconds time) { return significant(time.value() * 1e3); }

// Predicted / measured - 1; nothing where nothing was measured.
std::string error_text(const planner::TermComparison& term) {
  if (term.measured.value() <= 0.0) return "";
  return fmt::format("{:+.1f}", (term.predicted / term.measured - 1.0) * 100.0);
}

// Part of the step's error that this term causes: (predicted - measured) / measured step.
std::string share_text(const planner::TermComparison& term, Seconds step) {
  if (step.value() <= 0.0) return "";
  return fmt::format("{:+.1f}", (term.predicted - term.measured) / step * 100.0);
}

std::string run_terms_table(const std::vector<LayoutComparison>& runs) {
  html::TableRows rows;
  for (const LayoutComparison& run : runs) {
    for (const planner::TermComparison& term : run.terms) {
      rows.push_back({run_name(run), html::escape(spoken(name_of(term.kind))),
                      milliseconds_text(term.predicted), milliseconds_text(term.measured),
                      error_text(term), share_text(term, run.observation.step_time)});
    }
  }
  return html::table("Term by term",
                     {{"executed"},
                      {"term"},
                      {"predicted, ms", true},
                      {"measured, ms", true},
                      {"error, %", true},
                      {"part of the step's error, %", true}},
                     rows);
}

std::string errors_text(const planner::Validation& v) {
  std::string text = html::paragraph(fmt::format(
      "{} {} executed. Step time: median error {}, worst {}. The 90 % interval holds {} of the "
      "measured times.",
      v.layouts.size(), v.layouts.size() == 1 ? "layout was" : "layouts were",
      percent_text(v.median_absolute_error), percent_text(v.worst_absolute_error),
      percent_text(v.interval_coverage)));
  if (v.median_absolute_error_at_host_speed) {
    text += html::paragraph(fmt::format(
        "Corrected for the host speed during each run: median error {}; the interval holds {}.",
        percent_text(*v.median_absolute_error_at_host_speed),
        percent_text(v.interval_coverage_at_host_speed.value_or(0.0))));
  }
  const auto outside =
      std::count_if(v.layouts.begin(), v.layouts.end(),
                    [](const LayoutComparison& run) { return !run.inside_interval; });
  if (outside > 0) {
    text += html::paragraph(fmt::format("Outliers: {} {} outside the interval.", outside,
                                        outside == 1 ? "run" : "runs"));
  }
  if (v.layouts.size() >= 2) {
    text += html::paragraph(fmt::format(
        "Regret: the layout predicted fastest was {} slower than the fastest that was executed.",
        percent_text(v.regret)));
    if (v.regret_at_host_speed) {
      text +=
          html::paragraph(fmt::format("Corrected for the host speed during each run: {} slower.",
                                      percent_text(*v.regret_at_host_speed)));
    }
  }
  if (v.layouts.size() >= 3) {
    text += html::paragraph(
        fmt::format("Rank agreement (Kendall's tau): {}.", significant(v.kendall_tau, 3)));
  }
  return text;
}

std::string validation_page(const Report& report) {
  if (!report.validation) return "";
  const planner::Validation& v = *report.validation;
  std::string body = errors_text(v);
  if (!v.layouts.empty()) {
    body += html::figure("parity",
                         "Predicted against measured step time; on the diagonal they agree.") +
            html::table("Predicted and measured step time of the executed layouts",
                        validation_table(v)) +
            html::figure("term_errors",
                         "Error of each term, as a share of the measured step. Right of zero: "
                         "predicted too long. Left: too short.") +
            html::numbers("Term by term", run_terms_table(v.layouts));
  }
  std::string noisy, partial;
  for (const LayoutComparison& run : v.layouts) {
    const Observation& o = run.observation;
    if (is_noisy(o)) {
      noisy +=
          fmt::format("<li>{}: {} steps, {}</li>\n", planned_name(run), o.steps, noise_words(o));
    }
    if (o.other_program) {
      noisy += fmt::format("<li>{}: {}</li>\n", planned_name(run),
                           html::escape(other_program_words(*o.other_program)));
    }
    for (const std::string& what : o.not_run) {
      partial += fmt::format("<li>{}: {}</li>\n", planned_name(run), html::escape(what));
    }
  }
  if (!noisy.empty()) body += "<h3>Runs on a loaded host</h3>\n<ul>\n" + noisy + "</ul>\n";
  if (!partial.empty()) {
    body += "<h3>Parts that were not executed</h3>\n<ul>\n" + partial + "</ul>\n";
  }
  if (!v.skipped.empty()) body += "<h3>Runs that failed</h3>\n" + html::list(v.skipped);
  return html::section("validation", "Predicted and measured", body);
}

}  // namespace

extern const ReportSection kValidationSection;
constexpr ReportSection kValidationSection{.rows = validation_rows,
                                           .fill = fill_validation,
                                           .page = validation_page,
                                           .id = "validation",
                                           .word = "Measured",
                                           .charts = "parity term_errors"};

}  // namespace meshwright::reports
