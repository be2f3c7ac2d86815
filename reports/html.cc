// SPDX-License-Identifier: Apache-2.0
#include "reports/html.h"

#include <fmt/format.h>

#include <array>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"

namespace meshwright::reports {
namespace {

// Nothing is loaded and nothing is sent; the one script is known by its hash. Inline style is
// needed by the charts' tooltips.
std::string policy(const std::string& script) {
  const std::string scripts = script.empty() ? "'none'" : html::csp_hash(script);
  return fmt::format(
      "default-src 'none'; script-src {}; style-src 'unsafe-inline'; img-src data: blob:; "
      "base-uri 'none'; form-action 'none'",
      scripts);
}

std::string head(std::string_view title, const std::string& script) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<title>{} - meshwright</title>\n<style>\n{}</style>\n</head>\n",
      policy(script), html::escape(title), page_style());
}

// The page's sections in their order. A new one is a row here, its function in html/, its part of
// the record in sections/, and its chart, if it has one, in viewer/.
struct PageSection {
  std::string_view id;
  std::string_view word;  // in the navigation
  std::string (*html)(const Json& report);
};
constexpr std::array kSections{PageSection{"step-time", "Time", html::step_time},
                               PageSection{"ranking", "Ranking", html::ranking},
                               PageSection{"all-red-flags", "Red flags", html::red_flags},
                               PageSection{"capacity", "Capacity", html::capacity},
                               PageSection{"confidence", "Confidence", html::confidence},
                               PageSection{"sensitivity", "Sensitivity", html::sensitivity},
                               PageSection{"validation", "Measured", html::validation},
                               PageSection{"traffic", "Traffic", html::traffic},
                               PageSection{"topology", "Placement", html::topology},
                               PageSection{"memory", "Memory", html::memory},
                               PageSection{"heat-map", "Sizes", html::heat_map},
                               PageSection{"timeline", "Timeline", html::timeline},
                               PageSection{"scaling", "Scaling", html::scaling},
                               PageSection{"rejections", "Rejected", html::rejections},
                               PageSection{"launch", "Launch", html::launch},
                               PageSection{"calibration", "Evidence", html::calibration},
                               PageSection{"assumptions", "Assumptions", html::assumptions},
                               PageSection{"provenance", "Reproduce", html::provenance}};

std::string navigation(const std::string& body) {
  std::string out = "<nav aria-label=\"Parts of the report\"><ul>";
  for (const PageSection& section : kSections) {
    if (body.find(fmt::format("<section id=\"{}\"", section.id)) == std::string::npos) continue;
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, section.word);
  }
  return out + "</ul></nav>\n";
}

// A place for the viewer's theme button.
constexpr std::string_view kThemeBar = "<nav aria-label=\"Page\"><ul></ul></nav>\n";

std::string notices() { return fmt::format("<!--\n{}-->\n", third_party_notices()); }

std::string data_block(std::string_view id, const Json& data) {
  return fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", id,
                     html::json_in_script(record_text(data)));
}

// Ten thousand layouts in full are 30 MB that no reader opens: beyond the first, the page holds of
// each layout what its ranking and its scatter chart show, as rows. The record beside it has all.
constexpr std::size_t kLayoutsInFull = 200;
constexpr std::array kShortColumns{"rank",
                                   "short_name",
                                   "brief_name",
                                   "step_time_seconds",
                                   "step_time_low_seconds",
                                   "step_time_high_seconds",
                                   "relative_to_best",
                                   "tokens_per_second_per_gpu",
                                   "model_flops_utilization",
                                   "peak_memory_bytes",
                                   "provenance",
                                   "provenance_share",
                                   "pareto"};

Json embedded(const Json& record) {
  const Json& ranked = html::part_at(record, "ranked");
  if (ranked.size() <= kLayoutsInFull) return record;
  Json rows = Json::array();
  for (std::size_t i = kLayoutsInFull; i < ranked.size(); ++i) {
    Json row = Json::array();
    for (const char* column : kShortColumns) row.push_back(html::part_at(ranked[i], column));
    rows.push_back(std::move(row));
  }
  Json page = record;
  page["ranked"] = Json(ranked.begin(), ranked.begin() + kLayoutsInFull);
  page["ranked_rest"] = {{"columns", kShortColumns}, {"rows", std::move(rows)}};
  return page;
}

// The record goes along, so that the page can be read by programs too.
std::string page_of(std::string_view title, const std::string& top, const std::string& body,
                    const Json& record) {
  const std::string script = html::code_in_script(viewer_script());
  std::string page = head(title, script);
  page += fmt::format(
      "<body>\n<a class=\"skip\" href=\"#main\">Skip to the sections</a>\n"
      "{}{}<main id=\"main\" tabindex=\"-1\">\n{}</main>\n",
      html::bar_patterns(), top, body);
  page += data_block("report", embedded(record)) + data_block("palette", html::palette());
  if (!script.empty()) page += notices() + "<script>" + script + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_html(const Json& report) {
  std::string body;
  for (const PageSection& section : kSections) body += section.html(report);
  return page_of(html::text_at(report, "title"), html::first_screen(report) + navigation(body),
                 body, report);
}

std::string comparison_html(const Json& comparison) {
  return page_of("Two reports compared", html::comparison_headline(comparison).append(kThemeBar),
                 html::comparison(comparison), comparison);
}

}  // namespace meshwright::reports
