// SPDX-License-Identifier: Apache-2.0
#include "app/commands/output.h"

#include <CLI/CLI.hpp>
#include <map>

#include "app/command.h"
#include "app/output_file.h"
#include "reports/csv.h"
#include "reports/markdown.h"

namespace meshwright::app {

void add_format_option(CLI::App& command, Format& format) {
  const std::map<std::string, Format> formats{{"table", Format::table},
                                              {"json", Format::json},
                                              {"csv", Format::csv},
                                              {"markdown", Format::markdown}};
  command.add_option("--format", format, "table, json, csv or markdown (default table)")
      ->transform(CLI::CheckedTransformer(formats).description(""));
}

void add_output_options(Command& command, OutputOptions& options) {
  add_format_option(command.options(), options.format);
  command.writes("--out", options.out, "File to write; default: standard output");
}

std::string tables_text(const std::vector<reports::Table>& tables, Format format) {
  std::string text;
  for (const reports::Table& table : tables) {
    if (!text.empty()) text += "\n";
    if (format == Format::csv) {
      text += reports::table_to_csv(table);
    } else if (format == Format::markdown) {
      text += reports::table_to_markdown(table);
    } else {
      text += reports::table_to_text(table);
    }
  }
  return text;
}

void write_output(const OutputOptions& options, const std::vector<reports::Table>& tables,
                  const std::string& json) {
  write_file_atomically(
      options.out, options.format == Format::json ? json : tables_text(tables, options.format));
}

}  // namespace meshwright::app
