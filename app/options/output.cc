// SPDX-License-Identifier: Apache-2.0
#include "app/options/output.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "reports/tables/csv.h"
#include "reports/tables/markdown.h"
#include "reports/tables/table_text.h"
#include "reports/tables/wrapped_text.h"
#include "sim/base/text.h"

namespace meshwright::app {

std::string table_text(const reports::Table& table) {
  return reports::table_to_text(table, terminal_width());
}

std::string wrapped(const std::string& text) {
  return reports::wrapped_text(text, terminal_width());
}

namespace {

// A format for tables is a function in a file of its own, and a row here.
struct TableFormat {
  const char* name;
  Format format;
  std::string (*text)(const reports::Table&);
};
constexpr std::array kTableFormats{
    TableFormat{"table", Format::table, table_text},
    TableFormat{"csv", Format::csv, reports::table_to_csv},
    TableFormat{"markdown", Format::markdown, reports::table_to_markdown}};

}  // namespace

void add_format_option(CLI::App& command, Format& format) {
  const auto read = [&format](const std::string& name) {
    if (name == "json") {
      format = Format::json;
      return;
    }
    for (const TableFormat& entry : kTableFormats) {
      if (name != entry.name) continue;
      format = entry.format;
      return;
    }
    throw CLI::ValidationError(
        "--format", fmt::format("must be table, json, csv or markdown (got \"{}\")", name));
  };
  command.add_option_function<std::string>(
      "--format", read, "Output format: table, json, csv or markdown. Default: table");
}

void add_output_options(Command& command, OutputOptions& options) {
  add_format_option(command.options(), options.format);
  command.writes("--out", options.out, "File to write. Default: standard output");
}

std::string tables_text(const std::vector<reports::Table>& tables, Format format) {
  const auto* const entry =
      std::find_if(kTableFormats.begin(), kTableFormats.end(),
                   [&](const TableFormat& known) { return known.format == format; });
  std::string text;
  for (const reports::Table& table : tables) {
    append_to_list(text, "\n", entry->text(table));
  }
  return text;
}

void write_output(const OutputOptions& options, const std::vector<reports::Table>& tables,
                  const std::string& json) {
  write_file_atomically(
      options.out, options.format == Format::json ? json : tables_text(tables, options.format));
}

bool write_answer_file(const OutputOptions& options, const std::string& json) {
  if (options.out == "-") return true;
  write_file_atomically(options.out, json);
  return options.format != Format::json;
}

}  // namespace meshwright::app
