// SPDX-License-Identifier: Apache-2.0
// How a command's result reaches the user: tables on stdout or in a file, in the format asked for.
#pragma once

#include <string>
#include <vector>

#include "reports/tables/table.h"

namespace meshwright::app {

class Command;

enum class Format { table, json, csv, markdown };

struct OutputOptions {
  Format format = Format::table;
  std::string out = "-";
  std::string table{};  // the one of CSV; empty: the first

  [[nodiscard]] OutputOptions to_standard_output() const { return {format, "-", table}; }
};
// Adds --format and --table.
void add_format_options(Command& command, OutputOptions& options);
// The same and --out.
void add_output_options(Command& command, OutputOptions& options);

// A table that fits the terminal.
std::string table_text(const reports::Table& table);
// Lines that fit the terminal: longer ones are broken between words, and go on two characters
// further in than they began.
std::string wrapped(const std::string& text);

// The tables in a text format (not json).
std::string tables_text(const std::vector<reports::Table>& tables, Format format);

// Writes the tables, or `json` (a dumped document) when that is the format. CSV is one table: the
// first or that of --table. Throws InputError that lists the names.
void write_output(const OutputOptions& options, const std::vector<reports::Table>& tables,
                  const std::string& json);

// Writes `json` to the file of --out, if one was named. Returns whether an answer still goes to
// standard output: not JSON that the file has.
bool write_answer_file(const OutputOptions& options, const std::string& json);

}  // namespace meshwright::app
