// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"
#include "reports/sections/sections_json.h"
#include "reports/text.h"

namespace meshwright::reports::html {
namespace {

std::string tiles(const Json& report) {
  std::string out = "<dl class=\"tiles\">\n";
  for (const Json& tile : report["tiles"]) {
    out += fmt::format(
        "<div class=\"tile\" id=\"tile-{}\"><dt>{}</dt><dd class=\"value\">{}</dd><dd "
        "class=\"detail\">{}</dd></div>\n",
        escape(text_at(tile, "id")), escape(text_at(tile, "label")), escape(text_at(tile, "value")),
        escape(text_at(tile, "detail")));
  }
  return out + "</dl>\n";
}

// How much of the step each kind of number stands behind.
std::string provenance_mix(const Json& summary) {
  std::string out = "<p class=\"mix\">Share of the step by what stands behind it: ";
  for (const auto& [name, share] : summary["provenance_shares"].items()) {
    if (share.get<double>() <= 0.0) continue;
    out += fmt::format("<span class=\"nowrap\">{} {}</span> ", badge(name),
                       percent_text(share.get<double>()));
  }
  return out + "</p>\n";
}

}  // namespace

std::string headline(const Json& report) {
  const std::string verdict = text_at(report, "verdict");
  std::string out = fmt::format("<header>\n<h1>{}</h1>\n<p class=\"verdict\">{}</p>\n",
                                escape(text_at(report, "title")), escape(verdict));
  const std::string confidence = text_at(report, "confidence");
  if (!confidence.empty()) {
    out += fmt::format("<p class=\"confidence\">{}</p>\n", escape(confidence));
  }
  if (!report["tiles"].empty()) out += tiles(report);
  if (report["summary"].is_object()) out += provenance_mix(report["summary"]);
  return out + "</header>\n";
}

std::string section(std::string_view id, std::string_view heading, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escape(heading), body);
}

std::string figure(std::string_view chart, std::string_view description,
                   const std::string& fallback) {
  return fmt::format(
      "<figure class=\"chart\" data-chart=\"{}\"><figcaption>{}</figcaption>"
      "<div class=\"canvas\">{}</div></figure>\n",
      chart, escape(description), fallback);
}

std::string details(std::string_view summary, const std::string& body) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", escape(summary), body);
}

std::string numbers(std::string_view summary, const std::string& body) {
  return fmt::format("<details class=\"numbers\" open><summary>{}</summary>\n{}</details>\n",
                     escape(summary), body);
}

}  // namespace meshwright::reports::html
