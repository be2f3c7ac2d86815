// SPDX-License-Identifier: Apache-2.0
#include "app/commands/report_files.h"

#include <filesystem>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"

namespace meshwright::app {
namespace {

// The sentence for people; the tables for spreadsheets and documents.
void print_result(const OutputOptions& output, const PageFiles& files) {
  if (output.format == Format::table) {
    print("{}\n", files.sentence);
    return;
  }
  write_output(output, files.tables, files.record);
}

}  // namespace

std::string record_beside(const std::string& page) {
  if (page == "-") return "";
  std::filesystem::path record = std::filesystem::path(page).replace_extension();
  if (record.extension() != ".report" && record.filename() != "report") record += ".report";
  return record.string() + ".json";
}

int write_page(const ReportOptions& options, const PageFiles& files) {
  const std::string record = record_beside(options.out);
  write_file_atomically(options.out, files.html);
  if (record.empty()) return kDone;
  write_file_atomically(record, files.record);
  print_result(options.output, files);
  say("wrote {} and {}\n", options.out, record);
  return kDone;
}

}  // namespace meshwright::app
