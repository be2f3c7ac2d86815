// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/html/elements_json.h"
#include "reports/html/escape.h"
#include "reports/html/page_json.h"

namespace meshwright::reports::html {
namespace {

std::string file_of(const Json& launch) {
  const std::string refusal = text_at(launch, "refusal");
  if (!refusal.empty()) {
    return fmt::format("<p>{} cannot run this layout: {}.</p>\n", escape(text_at(launch, "target")),
                       escape(refusal));
  }
  std::string out =
      fmt::format("<p>{}, in the names of {}. Not run by us.</p>\n<ul>\n",
                  escape(text_at(launch, "file_name")), escape(text_at(launch, "names_of")));
  for (const Json& note : launch["notes"]) {
    out += fmt::format("<li>{}</li>\n", escape(note.get<std::string>()));
  }
  out += "</ul>\n<pre class=\"copyable\" tabindex=\"0\">";
  return out + lines(text_at(launch, "text")) + "</pre>\n";
}

}  // namespace

// Tabs where there is a script; one below the other where there is none.
std::string launch(const Json& report) {
  if (report["launch"].empty()) return "";
  std::string body = "<div class=\"tabs\" aria-label=\"Frameworks\">\n";
  int index = 0;
  for (const Json& file : report["launch"]) {
    body += fmt::format("<div class=\"tab\" id=\"launch-{}\">\n<h3>{}</h3>\n{}</div>\n", index++,
                        escape(text_at(file, "target")), file_of(file));
  }
  return section("launch", "How to launch the winner", body + "</div>\n");
}

}  // namespace meshwright::reports::html
