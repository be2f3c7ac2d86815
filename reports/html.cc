// SPDX-License-Identifier: Apache-2.0
#include "reports/html.h"

#include <fmt/format.h>

#include <array>

#include "reports/html/decision_table_json.h"
#include "reports/html/drawing_json.h"
#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/section_registry.h"
#include "sim/record/without_key.h"

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

std::string navigation(const std::string& body) {
  std::string out = "<nav aria-label=\"Parts of the report\"><ul>";
  for (const ReportSection& section : report_sections()) {
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
constexpr std::size_t kLayoutsInFull = 20;
constexpr std::array kShortNumbers{"step_time_seconds",         "step_time_low_seconds",
                                   "step_time_high_seconds",    "relative_to_best",
                                   "tokens_per_second_per_gpu", "model_flops_utilization",
                                   "peak_memory_bytes",         "provenance_share"};

// Charts and sorting need no more digits.
Json seven_digits(const Json& number) {
  if (!number.is_number()) return number;
  return Json::parse(fmt::format("{:.7g}", number.get<double>()), nullptr, false);
}

// [texts of the ranking's row, numbers, name, provenance, Pareto].
Json short_row(const Json& layout) {
  Json numbers = Json::array();
  for (const char* key : kShortNumbers) numbers.push_back(seven_digits(part_at(layout, key)));
  return Json::array({html::ranking_texts(layout), std::move(numbers),
                      part_at(layout, "short_name"), part_at(layout, "provenance"),
                      part_at(layout, "pareto")});
}

// The record, less what the page has as texts: the grid of what-ifs, and layouts far down.
Json embedded(const Json& record) {
  Json page = record;
  if (page.contains("capacity")) page["capacity"] = without_key(page["capacity"], "what_if");
  const Json& ranked = part_at(record, "ranked");
  if (ranked.size() <= kLayoutsInFull) return page;
  Json rows = Json::array();
  for (std::size_t i = kLayoutsInFull; i < ranked.size(); ++i) rows.push_back(short_row(ranked[i]));
  page["ranked"] = Json(ranked.begin(), ranked.begin() + kLayoutsInFull);
  page["ranked_rest"] = {{"numbers", kShortNumbers}, {"rows", std::move(rows)}};
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
  page += data_block("report", embedded(record)) + data_block("drawing", html::drawing()) +
          data_block("what-ifs", html::what_if_block(record));
  if (!script.empty()) page += notices() + "<script>" + script + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_html(const Json& report) {
  std::string body;
  for (const ReportSection& section : report_sections()) body += section.html(report);
  return page_of(text_at(report, "title"), html::first_screen(report) + navigation(body), body,
                 report);
}

std::string comparison_html(const Json& comparison) {
  return page_of("Reports compared", html::comparison_headline(comparison).append(kThemeBar),
                 html::comparison(comparison), comparison);
}

}  // namespace meshwright::reports
