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

struct Part {
  std::string_view id;
  std::string_view word;
};
constexpr std::array kParts{Part{"step-time", "Time"},          Part{"ranking", "Ranking"},
                            Part{"red-flags", "Red flags"},     Part{"confidence", "Confidence"},
                            Part{"sensitivity", "Sensitivity"}, Part{"validation", "Measured"},
                            Part{"traffic", "Traffic"},         Part{"topology", "Placement"},
                            Part{"memory", "Memory"},           Part{"heat-map", "Sizes"},
                            Part{"timeline", "Timeline"},       Part{"scaling", "Scaling"},
                            Part{"rejections", "Rejected"},     Part{"launch", "Launch"},
                            Part{"calibration", "Evidence"},    Part{"assumptions", "Assumptions"},
                            Part{"provenance", "Origin"}};

std::string navigation(const std::string& body) {
  std::string out = "<nav aria-label=\"Parts of the report\"><ul>";
  for (const Part& part : kParts) {
    if (body.find(fmt::format("<section id=\"{}\"", part.id)) == std::string::npos) continue;
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, part.word);
  }
  return out + "</ul></nav>\n";
}

// A place for the viewer's theme button.
constexpr std::string_view kThemeBar = "<nav aria-label=\"Page\"><ul></ul></nav>\n";

std::string notices() { return fmt::format("<!--\n{}-->\n", third_party_notices()); }

// The record goes along, so that the page can be read by programs too.
std::string page_of(std::string_view title, const std::string& top, const std::string& body,
                    const Json& record) {
  const std::string script = html::code_in_script(viewer_script());
  std::string page = head(title, script);
  page += fmt::format("<body>\n{}{}<main>\n{}</main>\n", html::bar_patterns(), top, body);
  page += fmt::format("<script type=\"application/json\" id=\"report\">{}</script>\n",
                      html::json_in_script(record_text(record)));
  if (!script.empty()) page += notices() + "<script>" + script + "</script>\n";
  return page + "</body>\n</html>\n";
}

}  // namespace

std::string record_text(const Json& record) {
  return record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string report_html(const Json& report) {
  std::string body;
  for (const auto& part :
       {html::step_time, html::ranking, html::red_flags, html::confidence, html::sensitivity,
        html::validation, html::traffic, html::topology, html::memory, html::heat_map,
        html::timeline, html::scaling, html::rejections, html::launch, html::calibration,
        html::assumptions, html::provenance}) {
    body += part(report);
  }
  return page_of(html::text_at(report, "title"), html::headline(report) + navigation(body), body,
                 report);
}

std::string comparison_html(const Json& comparison) {
  return page_of("Two reports compared", html::comparison_headline(comparison).append(kThemeBar),
                 html::comparison(comparison), comparison);
}

}  // namespace meshwright::reports
