// SPDX-License-Identifier: Apache-2.0
#include "app/commands/backtest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <vector>

#include "app/commands/output.h"
#include "app/files.h"
#include "app/measurements.h"
#include "app/program.h"
#include "planner/backtest.h"
#include "planner/refit.h"
#include "reports/backtest_json.h"
#include "sim/error.h"
#include "sim/json/reader.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string dataset;
  std::string cluster;
  std::vector<std::string> fit;
  std::string fit_on;
  std::string fit_out;
  OutputOptions output;
};

void use_cluster(planner::MeasuredSet& set, const std::string& name) {
  if (name.empty()) return;
  const Cluster cluster = load_cluster(name);
  for (planner::MeasuredRun& run : set.runs)
    run.cluster = scaled_to(cluster, run.cluster.num_gpus());
}

planner::FitTerm fit_term(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& entry : planner::fit_terms()) {
    if (entry.name == name) return entry.term;
    known.emplace_back(entry.name);
  }
  throw InputError("--fit", "",
                   fmt::format("must name some of {}, is \"{}\"", fmt::join(known, ", "), name),
                   nearest(name, known));
}

// Learns the terms on one set; prints them in the words of a cluster file's "framework".
Framework learn(const Options& options) {
  planner::MeasuredSet training =
      load_measurements(options.fit_on.empty() ? options.dataset : options.fit_on);
  use_cluster(training, options.cluster);
  std::vector<planner::FitTerm> terms;
  for (const std::string& name : options.fit) terms.push_back(fit_term(name));
  const planner::Refit found = planner::refit(training, terms);
  fmt::print(stderr, "fitted on {} runs of {}; what remains: {:.1f} %\n", found.runs, training.name,
             100.0 * found.residual_spread);
  for (std::size_t i = 0; i < found.terms.size(); ++i) {
    fmt::print(stderr, "  {:24} {:.4g} -> {:.4g} (+- {:.0f} %)\n", options.fit[i],
               found.terms[i].before, found.terms[i].after,
               100.0 * found.terms[i].relative_standard_error);
  }
  if (!options.fit_out.empty()) {
    Cluster learnt = training.runs.front().cluster;
    learnt.framework = found.framework;
    learnt.framework.name = "fitted";
    learnt.framework.source =
        fmt::format("{} runs of {}: {}", found.runs, training.name, fmt::join(options.fit, ", "));
    write_file_atomically(options.fit_out, to_json(learnt).dump(2) + "\n");
  }
  return found.framework;
}

int run(const Options& options) {
  if (!options.fit_out.empty()) check_new_file(options.fit_out);
  planner::MeasuredSet set = load_measurements(options.dataset);
  use_cluster(set, options.cluster);
  if (!options.fit.empty()) {
    const Framework framework = learn(options);
    for (planner::MeasuredRun& run : set.runs) run.cluster.framework = framework;
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
  command
      ->add_option("--fit", options->fit,
                   "Framework scalars to learn first: gemm_time_factor, kernel_time_factor, "
                   "collective_time_factor, host_launch, micro_batch_overhead, step_overhead")
      ->delimiter(',');
  command->add_option("--fit-on", options->fit_on, "Set to learn from; default: the set itself");
  command->add_option("--fit-out", options->fit_out,
                      "New cluster file with what was learnt; never overwrites");
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
