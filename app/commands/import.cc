// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/files.h"
#include "app/measurements.h"
#include "app/output_file.h"
#include "app/program.h"
#include "app/terminal.h"
#include "interop/csv.h"
#include "interop/measurement_map.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string table, map, out = "-";
};

int run(const Options& options) {
  const interop::CsvTable table = interop::read_csv(read_text_file(options.table), options.table);
  const nlohmann::ordered_json set = interop::measurements_from_csv(
      table, options.table, read_json_file(options.map), options.map);
  // What is written must be readable again: each run's model, cluster, job and layout are checked.
  const planner::MeasuredSet read = measurements_from_json(
      nlohmann::json(set), fmt::format("{} as {} says", options.table, options.map));
  write_file_atomically(options.out, set.dump(1) + "\n");
  say("{} runs of {}\n", read.runs.size(), read.name);
  if (options.out != "-") say("next: meshwright backtest {}\n", options.out);
  return kDone;
}

}  // namespace

void add_import(Commands& commands) {
  Command& command = commands.add("import", "Other programs' logs in our words");
  command.options().require_subcommand(1);
  auto options = std::make_shared<Options>();
  Command& measurements = commands.add_below(command, "measurements",
                                             "A table of measured runs, for meshwright backtest");
  measurements.reads("table", options->table, "CSV file with one run a row")->required();
  measurements
      .reads("--map", options->map,
             "JSON file that says which column is which field; "
             "configs/datasets/example-map.json is one")
      ->required();
  measurements.writes("-o,--out", options->out, "Measured runs; default: standard output");
  measurements.runs([options](const Call&) { return run(*options); });
}

}  // namespace meshwright::app
