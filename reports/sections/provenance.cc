// SPDX-License-Identifier: Apache-2.0
// How to make the plan and the report again.
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_registry.h"

namespace meshwright::reports {
namespace {

using html::escape;

std::string provenance_page(const Report& report) {
  html::TableRows rows;
  for (const Origin* origin : {&report.origin, &report.plan}) {
    for (const InputFile& input : origin->inputs) {
      rows.push_back({escape(input.name), escape(input.file),
                      fmt::format("<code class=\"hash\">{}</code>", escape(input.sha256))});
    }
  }
  std::string body = fmt::format(
      "<dl class=\"origin\"><dt>plan made by</dt><dd>meshwright {}: <code>{}</code></dd>"
      "<dt>report made by</dt><dd>meshwright {}: <code>{}</code></dd>"
      "<dt>record</dt><dd>{}, embedded in this page</dd></dl>\n",
      escape(report.plan.tool_version), escape(report.plan.command),
      escape(report.origin.tool_version), escape(report.origin.command), kReportSchema);
  if (!rows.empty()) body += html::table("Inputs", {{"part"}, {"file"}, {"SHA-256"}}, rows);
  return html::section("provenance", "Reproduce", body);
}

}  // namespace

extern const ReportSection kProvenanceSection;
constexpr ReportSection kProvenanceSection{
    .page = provenance_page, .id = "provenance", .word = "Reproduce"};

}  // namespace meshwright::reports
