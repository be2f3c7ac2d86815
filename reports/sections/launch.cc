// SPDX-License-Identifier: Apache-2.0
// How to launch the winner, in each framework's words.
#include <fmt/format.h>

#include "reports/html/blocks.h"
#include "reports/html/elements.h"
#include "reports/html/escape.h"
#include "reports/sections/section_registry.h"

namespace meshwright::reports {
namespace {

using html::escape;

const Record<LaunchFile>& launch_file_record() {
  static const Record<LaunchFile> record = [] {
    using R = LaunchFile;
    Record<R> r("The best layout in a framework's words, or why it cannot be said in them.");
    r.row(&R::target, "target", kind::text(), "");
    r.row(&R::names_of, "names_of", kind::text(), "The version whose names these are.");
    r.row(&R::file_name, "file_name", kind::text(), "");
    r.row(&R::text, "text", kind::text(), "Empty when refused.");
    r.row(&R::notes, "notes", kind::texts(), "What differs, what to add.");
    r.row(&R::refusal, "refusal", kind::text(), "Why the framework cannot run this layout.");
    return r.named("LaunchFile").all_required();
  }();
  return record;
}

void launch_rows(Record<Report>& r) {
  r.row(&Report::launch, "launch", kind::list(launch_file_record), "");
}

void fill_launch(Report& report, const ReportContents& contents) {
  report.launch = contents.launch;
}

std::string launch_text(const LaunchFile& file) {
  if (!file.refusal.empty()) {
    return html::paragraph(
        fmt::format("{} cannot run this layout: {}.", file.target, file.refusal));
  }
  return html::paragraph(
             fmt::format("{}, in the names of {}. Not run by us.", file.file_name, file.names_of)) +
         html::list(file.notes) + "<pre class=\"copyable\" tabindex=\"0\">" +
         html::lines(file.text) + "</pre>\n";
}

// Tabs where there is a script; one below the other where there is none.
std::string launch_page(const Report& report) {
  if (report.launch.empty()) return "";
  std::string body = "<div class=\"tabs\" aria-label=\"Frameworks\">\n";
  int index = 0;
  for (const LaunchFile& file : report.launch) {
    body += fmt::format("<div class=\"tab\" id=\"launch-{}\">\n<h3>{}</h3>\n{}</div>\n", index++,
                        escape(file.target), launch_text(file));
  }
  return html::section("launch", "Launch files of layout #1", body + "</div>\n");
}

}  // namespace

extern const ReportSection kLaunchSection;
constexpr ReportSection kLaunchSection{.rows = launch_rows,
                                       .fill = fill_launch,
                                       .page = launch_page,
                                       .id = "launch",
                                       .word = "Launch"};

}  // namespace meshwright::reports
