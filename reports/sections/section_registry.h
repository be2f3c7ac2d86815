// SPDX-License-Identifier: Apache-2.0
// The sections of a report, in their order. A section is one source of this folder: its rows of the
// record, how it is made from a plan, its part of the page and, where it draws, a chart of
// viewer/src. section_registry.cc names it and nothing else does.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reports/records/report.h"

namespace meshwright::reports {

struct ReportSection {
  // Where it shows parts of others, it has no rows and no `fill`.
  void (*rows)(Record<Report>& record) = nullptr;
  void (*fill)(Report& report, const ReportContents& contents) = nullptr;
  // Its part of the page; empty where the record has nothing to show. Null: it has no part.
  std::string (*page)(const Report& report) = nullptr;
  std::string_view id{};    // of its <section>: links lead to it
  std::string_view word{};  // in the navigation
  // Names of the scripts that draw the section's figures, viewer/src/NAME.ts, separated by spaces.
  std::string_view charts{};
};

std::span<const ReportSection* const> report_sections();

}  // namespace meshwright::reports
