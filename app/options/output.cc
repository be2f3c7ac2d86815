// SPDX-License-Identifier: Apache-2.0
#include "app/options/output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

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

void add_format_options(Command& command, OutputOptions& options) {
  const auto read = [&format = options.format](const std::string& name) {
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
  command.options().add_option_function<std::string>(
      "--format", read, "Output format: table, json, csv or markdown. Default: table");
  command.options().add_option("--table", options.table,
                               "Table to write with --format csv. Default: the first");
  command.only_where("--table", "--format csv",
                     [&format = options.format] { return format == Format::csv; });
}

void add_output_options(Command& command, OutputOptions& options) {
  add_format_options(command, options);
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

namespace {

// CSV is one table a file; the names of the others are printed.
std::string csv_text(const std::string& asked, const std::vector<reports::Table>& tables) {
  std::vector<std::string> names;
  for (const reports::Table& table : tables) names.push_back(table.name);
  const auto chosen = std::find_if(tables.begin(), tables.end(), [&](const reports::Table& table) {
    return asked.empty() || table.name == asked;
  });
  if (chosen == tables.end()) {
    if (asked.empty()) return "";
    throw InputError("--table", "",
                     fmt::format("must be one of {} (got \"{}\")", fmt::join(names, ", "), asked),
                     did_you_mean(asked, names));
  }
  if (asked.empty() && tables.size() > 1) {
    say("CSV holds one table, {}. --table NAME writes another: {}.\n", names.front(),
        fmt::join(names.begin() + 1, names.end(), ", "));
  }
  return reports::table_to_csv(*chosen);
}

}  // namespace

void write_output(const OutputOptions& options, const std::vector<reports::Table>& tables,
                  const std::string& json) {
  write_file_atomically(options.out, options.format == Format::json ? json
                                     : options.format == Format::csv
                                         ? csv_text(options.table, tables)
                                         : tables_text(tables, options.format));
}

bool write_answer_file(const OutputOptions& options, const std::string& json) {
  if (options.out == "-") return true;
  write_file_atomically(options.out, json);
  return options.format != Format::json;
}

}  // namespace meshwright::app
