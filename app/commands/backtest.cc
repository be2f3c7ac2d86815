// SPDX-License-Identifier: Apache-2.0
#include "app/commands/backtest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/output.h"
#include "app/files.h"
#include "app/measurements.h"
#include "app/program.h"
#include "planner/backtest.h"
#include "reports/backtest_json.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string dataset;
  std::string cluster;
  OutputOptions output;
};

int run(const Options& options) {
  planner::MeasuredSet set = load_measurements(options.dataset);
  if (!options.cluster.empty()) {
    const Cluster cluster = load_cluster(options.cluster);
    for (planner::MeasuredRun& measured : set.runs) {
      measured.cluster = scaled_to(cluster, measured.cluster.num_gpus());
    }
  }
  const planner::Backtest result = planner::backtest(set);
  int illegal = 0;
  for (const planner::PredictedRun& predicted : result.runs) illegal += predicted.estimate ? 0 : 1;
  if (illegal > 0) {
    fmt::print(stderr, "{} of {} runs have a layout that breaks a rule; see --format json\n",
               illegal, result.runs.size());
  }
  write_output(options.output,
               {reports::scores_table(result), reports::worst_runs_table(set, result)},
               reports::backtest_to_json(set, result).dump(2) + "\n");
  return kDone;
}

}  // namespace

void add_backtest(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("backtest", "Predictions against a set of measured runs");
  command
      ->add_option("dataset", options->dataset, "Measured runs (schema meshwright.measurements/1)")
      ->required();
  command->add_option("--cluster", options->cluster,
                      "Use this cluster instead of the one that each run names");
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
