// SPDX-License-Identifier: Apache-2.0
// Launch files of layout #1, one for each framework.
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/records/parts.h"
#include "reports/sections/section_parts.h"
#include "reports/sections/section_registry.h"

namespace meshwright::reports {
namespace {

using html::escape;

void launch_rows(Record<Report>& r) { r.row<&Report::launch>(launch_file_record); }

void fill_launch(Report& report, const ReportContents& contents) {
  report.launch = contents.launch;
}

std::string launch_text(const LaunchFile& file) {
  if (!file.refusal.empty()) {
    return html::paragraph(
        fmt::format("{} cannot run this layout: {}.", file.target, file.refusal));
  }
  return html::paragraph(fmt::format("{}, with the option names of {}. This file was not executed.",
                                     file.file_name, file.names_of)) +
         html::list(file.notes) + "<pre class=\"copyable\" tabindex=\"0\">" +
         html::lines(file.text) + "</pre>\n";
}

std::string launch_page(const Report& report) {
  if (report.launch.empty()) return "";
  return html::section("launch", "Launch files of layout #1",
                       launch_tabs(report.launch, "Frameworks"));
}

}  // namespace

std::string launch_tabs(const std::vector<LaunchFile>& files, std::string_view label) {
  std::string body = fmt::format("<div class=\"tabs\" aria-label=\"{}\">\n", escape(label));
  int index = 0;
  for (const LaunchFile& file : files) {
    body += fmt::format("<div class=\"tab\" id=\"launch-{}\">\n<h3>{}</h3>\n{}</div>\n", index++,
                        escape(file.target), launch_text(file));
  }
  return body + "</div>\n";
}

extern const ReportSection kLaunchSection;
constexpr ReportSection kLaunchSection{.rows = launch_rows,
                                       .fill = fill_launch,
                                       .page = launch_page,
                                       .id = "launch",
                                       .word = "Launch"};

}  // namespace meshwright::reports
