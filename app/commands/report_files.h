// SPDX-License-Identifier: Apache-2.0
// What meshwright report is asked for, and the files that it writes.
#pragma once

#include <string>
#include <vector>

#include "app/options/output.h"
#include "reports/tables/table.h"

namespace meshwright::app {

struct ReportOptions {
  std::string plan;
  std::vector<std::string> compare;  // records
  OutputOptions output;              // of what goes to standard output
  std::string trials;
  std::string profile;
  std::string out = "report.html";
  bool force = false;
};

// A page and what stands next to it.
struct PageFiles {
  std::string html{}, record{};  // `record`: the JSON report as text
  std::string sentence{};        // for standard output
  std::vector<reports::Table> tables{};
};

// q3.report.json beside q3.html: a name that no plan has. Empty for standard output.
std::string record_beside(const std::string& page);

// Writes the page, and its record next to it; a page on standard output has none. Returns the exit
// code.
int write_page(const ReportOptions& options, const PageFiles& files);

}  // namespace meshwright::app
