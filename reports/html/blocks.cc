// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"

namespace meshwright::reports::html {

double train_steps(const Json& report) {
  const Json& decision = part_at(report, "decision");
  if (!flag_at(decision, "tokens_are_the_jobs")) return 1.0;
  const double tokens = number_at(decision, "train_tokens");
  const double each = number_at(part_at(report, "summary"), "tokens_per_step");
  return each > 0.0 ? std::ceil(tokens / each) : 0.0;
}

const Json& front_row(const Json& capacity) {
  for (const char* which : {"planned", "recommended", "closest"}) {
    for (const Json& row : part_at(capacity, "rows")) {
      if (text_at(capacity, which) == text_at(row, "id") && !text_at(row, "id").empty()) return row;
    }
  }
  static const Json nothing;
  return nothing;
}

std::string section(std::string_view id, std::string_view heading, const std::string& body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}</section>\n", id, escape(heading), body);
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
