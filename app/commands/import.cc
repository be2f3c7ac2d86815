// SPDX-License-Identifier: Apache-2.0
#include "app/commands/import.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "app/files.h"
#include "app/measurements.h"
#include "app/program.h"
#include "interop/csv.h"
#include "interop/measurement_map.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string table, map, out = "-";
};

int run(const Options& options) {
  if (options.out != "-") check_writable(options.out);
  const interop::CsvTable table = interop::read_csv(read_text_file(options.table), options.table);
  const nlohmann::ordered_json set = interop::measurements_from_csv(
      table, options.table, read_json_file(options.map), options.map);
  // What is written must be readable again: each run's model, cluster, job and layout are checked.
  const planner::MeasuredSet read = measurements_from_json(nlohmann::json(set), options.table);
  write_file_atomically(options.out, set.dump(1) + "\n");
  fmt::print(stderr, "{} runs of {}\n", read.runs.size(), read.name);
  if (options.out != "-") fmt::print(stderr, "next: meshwright backtest {}\n", options.out);
  return kDone;
}

}  // namespace

void add_import(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("import", "Other programs' logs in our words");
  command->require_subcommand(1);
  auto options = std::make_shared<Options>();
  CLI::App* measurements =
      command->add_subcommand("measurements", "A table of measured runs, for meshwright backtest");
  measurements->add_option("table", options->table, "CSV file with one run a row")->required();
  measurements
      ->add_option("--map", options->map,
                   "JSON file that says which column is which field; "
                   "configs/datasets/example-map.json is one")
      ->required();
  measurements->add_option("-o,--out", options->out, "Measured runs; default: standard output");
  measurements->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
