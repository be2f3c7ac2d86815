// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/backtest.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <vector>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/inner_files.h"
#include "app/files/measurements.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/options/refit_options.h"
#include "planner/accuracy/learning.h"
#include "planner/accuracy/picks.h"
#include "planner/accuracy/refit.h"
#include "reports/records/backtest.h"
#include "reports/tables/backtest_tables.h"
#include "reports/tables/tables.h"
#include "sim/base/error.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct BacktestOptions {
  std::string dataset;
  std::string cluster;
  std::string framework;
  std::vector<std::string> fit;
  std::string fit_on;
  std::string fit_out;
  int folds = 0;
  std::string group_by;
  int learn = 0;
  bool picks = false;
  OutputOptions output;
};

planner::MeasuredSet load_set(const std::string& path, const BacktestOptions& options) {
  planner::MeasuredWhere where;
  if (!options.cluster.empty()) where.cluster = load_cluster(options.cluster);
  if (!options.framework.empty()) where.framework = load_framework(options.framework);
  planner::MeasuredSet set = load_measurements(path, where);
  say_unread(set);
  return set;
}

// Learns the terms on one set; prints them in the words of a cluster file's "framework".
Framework learn(const BacktestOptions& options) {
  planner::MeasuredSet training =
      load_set(options.fit_on.empty() ? options.dataset : options.fit_on, options);
  const planner::Refit found = planner::refit(training, framework_scalars_named(options.fit));
  print_refit(found, training.name);
  if (!options.fit_out.empty()) {
    write_refitted(training.runs.front().cluster, found, found.framework.relative_spread,
                   training.name, options.fit_out);
  }
  return found.framework;
}

// Groups runs by model, or by the release at the start of an id: "26.04 MXFP8".
void regroup(planner::MeasuredSet& set, const std::string& group_by) {
  for (planner::MeasuredRun& run : set.runs) {
    if (group_by == "model") run.group = run.model.name;
    if (group_by == "release") run.group = run.id.substr(0, run.id.find(' '));
  }
}

// The set's other runs, as known after the `count` that tell most of them.
planner::MeasuredSet rest_after(planner::MeasuredSet set, int count) {
  const bool one_software = std::all_of(set.runs.begin(), set.runs.end(), [&](const auto& run) {
    return run.cluster.framework.name == set.runs.front().cluster.framework.name;
  });
  if (set.runs.empty() || !one_software) {
    throw InputError("--learn", "", "needs runs of one training software", "give --framework");
  }
  const std::vector<FrameworkScalar> scalars = planner::all_framework_scalars();
  planner::MeasuredSet known{set.name, set.source, set.assumed, {}, {}};
  std::vector<std::size_t> picked = planner::runs_to_make(set, scalars, count);
  for (const std::size_t i : picked) {
    known.runs.push_back(set.runs[i]);
    say("known: {} ({})\n", set.runs[i].id, short_name(set.runs[i].layout));
  }
  const planner::Learning learning = planner::learn(known, scalars, set);
  print_refit(learning.refit, set.name);
  for (planner::MeasuredRun& run : set.runs) {
    run.cluster = planner::with_learnt(run.cluster, learning);
  }
  std::sort(picked.rbegin(), picked.rend());
  for (const std::size_t i : picked) {
    set.runs.erase(set.runs.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return set;
}

int print_picks(const BacktestOptions& options, const planner::MeasuredSet& set) {
  const std::vector<planner::Pick> found = planner::picks(set, {});
  write_output(
      options.output, {reports::picks_table(set, found)},
      reports::picks_file_record().write(reports::picks_file_of(set, found)).dump(2) + "\n");
  return kDone;
}

int run_backtest(const BacktestOptions& options) {
  planner::MeasuredSet set = load_set(options.dataset, options);
  regroup(set, options.group_by);
  if (options.folds > 0) {
    set = planner::fitted_on_other_groups(std::move(set), framework_scalars_named(options.fit),
                                          options.folds);
    say("each group is predicted from a fit on the groups of {} other parts\n", options.folds - 1);
  } else if (!options.fit.empty()) {
    const Framework framework = learn(options);
    for (planner::MeasuredRun& run : set.runs) {
      run.cluster.framework = framework;
      run.cluster.framework_assumed = false;
    }
  }
  if (options.learn > 0) set = rest_after(std::move(set), options.learn);
  if (options.picks) return print_picks(options, set);
  const planner::Backtest result = planner::backtest(set);
  int illegal = 0;
  for (const planner::PredictedRun& predicted : result.runs) illegal += predicted.estimate ? 0 : 1;
  if (illegal > 0) {
    say("{} of {} runs have a layout that breaks a rule; see --format json\n", illegal,
        result.runs.size());
  }
  std::vector<reports::Table> tables{named("scores", reports::scores_table(result)),
                                     named("worst", reports::worst_runs_table(set, result))};
  if (!set.unread.empty()) tables.push_back(named("unread", reports::unread_runs_table(set)));
  write_output(
      options.output, tables,
      reports::backtest_file_record().write(reports::backtest_file_of(set, result)).dump(2) + "\n");
  if (illegal == static_cast<int>(result.runs.size())) {
    say("No run could be predicted.\n");
    return kGateFailed;
  }
  return kDone;
}

}  // namespace

void add_backtest(Commands& commands) {
  auto options = std::make_shared<BacktestOptions>();
  Command& command = commands.add("backtest", "Predict measured runs and print the error of each");
  command
      .reads("dataset", options->dataset,
             "Measured runs, a file with schema meshwright.measurements/1")
      ->required();
  command.reads("--cluster", options->cluster,
                "Cluster to use instead of the one that each run names", "clusters");
  add_framework_option(command, options->framework);
  command.options()
      .add_option("--fit", options->fit,
                  "Framework scalars to fit first, separated by commas: " + framework_scalar_list())
      ->delimiter(',');
  command.reads("--fit-on", options->fit_on, "Data set to fit on. Default: DATASET itself");
  command.also_reads("dataset (named in it)",
                     [options] { return files_in_measurements(options->dataset); });
  command.also_reads("--fit-on (named in it)",
                     [options] { return files_in_measurements(options->fit_on); });
  command.writes_new(
      "--fit-out", options->fit_out,
      "Write a new cluster file with the fitted scalars. An existing file is refused");
  command.options().add_option(
      "--folds", options->folds,
      "Split the groups into N parts and predict each part from a fit on the others");
  command.options()
      .add_option("--group-by", options->group_by,
                  "Groups of the folds: model, or release (the first word of a run's id). "
                  "Default: the data set's groups")
      ->check(CLI::IsMember({"model", "release"}));
  command.options()
      .add_option("--learn", options->learn,
                  "Fit on the N most informative runs and predict the others")
      ->check(CLI::Range(1, 1'000).description(""));
  command.options().add_flag("--picks", options->picks,
                             "Compare each run with the layout that the default search picks");
  command.only_with("--fit-on", "--fit");
  command.only_with("--fit-out", "--fit");
  command.only_with("--folds", "--fit");
  command.never_with("--learn", {"--fit", "--folds", "--picks"});
  command.never_with("--folds", {"--fit-on", "--fit-out"});
  add_output_options(command, options->output);
  command.runs([options](const Call&) { return run_backtest(*options); });
}

}  // namespace meshwright::app
