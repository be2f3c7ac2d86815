// SPDX-License-Identifier: Apache-2.0
// The sections of a report below its first screen, in their order: a section is a row here, a
// source with its two functions, its part of the record's schema and, where it draws, a chart in
// viewer/src.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reports/report_json.h"

namespace meshwright::reports {

struct ReportSection {
  std::string_view id;    // of its <section>: links lead to it
  std::string_view word;  // in the navigation
  // Its part of the record; null where it shows parts of others.
  void (*record)(Json& report, const ReportContents& contents) = nullptr;
  // Its part of the page; empty where the record has nothing to show.
  std::string (*html)(const Json& report) = nullptr;
  // What the viewer draws into its figures: names of viewer/src/NAME.ts; with spaces.
  std::string_view charts = "";
};

std::span<const ReportSection> report_sections();

}  // namespace meshwright::reports
