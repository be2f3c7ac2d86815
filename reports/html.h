// SPDX-License-Identifier: Apache-2.0
// The report as one page that needs no network and reads without script and style. `report_json` is
// the text of report.json; the page carries the same text inside.
#pragma once

#include <string>
#include <string_view>

namespace meshwright::reports {

std::string report_html(const std::string& report_json);
// Likewise of a comparison of two reports.
std::string comparison_html(const std::string& comparison_json);

// Built from viewer/; the script is empty when it was built without npm.
std::string_view viewer_script();
std::string_view page_style();
std::string_view third_party_notices();

}  // namespace meshwright::reports
