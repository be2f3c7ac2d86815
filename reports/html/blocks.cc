// SPDX-License-Identifier: Apache-2.0
#include "reports/html/blocks.h"

#include <fmt/format.h>

#include "reports/html/escape.h"

namespace meshwright::reports::html {

std::string section(std::string_view id, std::string_view heading, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escape(heading), body);
}

std::string navigation(std::span<const PagePart> parts, std::string_view body) {
  std::string out = "<nav aria-label=\"Parts of the report\"><ul>";
  for (const PagePart& part : parts) {
    if (body.find(fmt::format("<section id=\"{}\"", part.id)) == std::string_view::npos) continue;
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>", part.id, escape(part.word));
  }
  return out + "</ul></nav>\n";
}

std::string figure(std::string_view chart, std::string_view description,
                   const std::string& fallback) {
  return fmt::format(
      "<figure class=\"chart\" data-chart=\"{}\"><figcaption><span "
      "class=\"says\">{}</span></figcaption>"
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
