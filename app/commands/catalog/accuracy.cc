// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/config_names.h"
#include "app/files/files.h"
#include "app/files/measurements.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/output.h"
#include "planner/accuracy/accuracy_list.h"
#include "planner/accuracy/learning_curve.h"
#include "planner/accuracy/regime_tables.h"
#include "reports/tables/accuracy_table.h"
#include "reports/tables/regime_report.h"
#include "sim/base/error.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

struct AccuracyOptions {
  std::string list = "published";
  std::string data;
  bool gate = false;
  std::string leave_out;
  bool learning = false;
  std::string spreads_out;
  OutputOptions output;
};

// Beside the list, or in --data; nothing where the set is in neither.
std::string file_of(const planner::AccuracyRow& row, const AccuracyOptions& options) {
  const fs::path list = find_config(options.list, "accuracy");
  for (const fs::path& folder : {list.parent_path(), fs::path(options.data)}) {
    std::error_code none;
    const fs::path file = folder / row.set;
    if (!folder.empty() && fs::is_regular_file(file, none)) return file.string();
  }
  return "";
}

// Sets that the list names, for the refusal of an output that is one; what is wrong with the list
// is said when it is read.
std::vector<std::string> files_in_list(const AccuracyOptions& options) {
  std::vector<std::string> files;
  try {
    const std::string list = require_config(options.list, "accuracy");
    for (const auto& row : planner::accuracy_rows_from_json(read_json_file(list), list)) {
      files.push_back(file_of(row, options));
    }
  } catch (const InputError&) {
  }
  return files;
}

reports::AccuracyResult result_of(const planner::AccuracyRow& row, const std::string& file) {
  planner::MeasuredWhere where;
  if (!row.cluster.empty()) where.cluster = load_cluster(row.cluster);
  if (!row.framework.empty()) where.framework = load_framework(row.framework);
  const planner::MeasuredSet whole = load_measurements(file, where);
  refuse_unread(whole);
  const planner::MeasuredSet set = planner::runs_of(row, whole);
  reports::AccuracyResult result{row, planner::backtest(set).overall, {}, false};
  const std::string stem = fs::path(row.set).stem().string();
  std::set<std::string> frameworks;
  for (const planner::MeasuredRun& run : set.runs) {
    const Framework& framework = run.cluster.framework;
    for (const auto* fitted : {&framework.fit.sets, &run.cluster.fit.sets}) {
      const bool holds = fitted == &framework.fit.sets || run.cluster.fit_holds();
      if (holds && std::find(fitted->begin(), fitted->end(), stem) != fitted->end()) {
        result.fitted_on = true;
      }
    }
    frameworks.insert(framework.name.empty() ? "none" : framework.name);
  }
  result.framework = fmt::format("{}", fmt::join(frameworks, ", "));
  return result;
}

// Judges one data set against its limits. Errors in a set name the row of the list that contains
// it.
reports::AccuracyResult judged(const planner::AccuracyRow& row, const std::string& file,
                               const std::string& list) {
  try {
    return result_of(row, file);
  } catch (const InputError& error) {
    throw InputError(list, "", fmt::format("row \"{}\": {}", row.name, error.what()), error.hint());
  }
}

// The sets of the list that are at hand, under the software that ran them.
std::vector<planner::ListedSet> listed_sets(const std::string& list,
                                            const AccuracyOptions& options) {
  std::vector<planner::ListedSet> sets;
  for (const planner::AccuracyRow& row :
       planner::accuracy_rows_from_json(read_json_file(list), list)) {
    const std::string file = file_of(row, options);
    if (file.empty()) continue;
    planner::MeasuredWhere where;
    if (!row.cluster.empty()) where.cluster = load_cluster(row.cluster);
    if (!row.framework.empty()) where.framework = load_framework(row.framework);
    const planner::MeasuredSet whole = load_measurements(file, where);
    refuse_unread(whole);
    sets.push_back({row.name, fs::path(row.set).stem().string(), planner::runs_of(row, whole)});
  }
  return sets;
}

std::vector<Device> shipped_devices() {
  std::vector<Device> devices;
  for (const std::string& name : config_names("hardware")) {
    const std::string file = require_config(name, "hardware");
    devices.push_back(device_from_json(read_json_file(file), file));
  }
  return devices;
}

// Prints the errors behind the intervals, and writes their spreads to a file if one is named.
int print_regimes(const AccuracyOptions& options, const std::string& list,
                  const std::string& command) {
  const std::vector<planner::ListedSet> sets = listed_sets(list, options);
  const planner::RegimeTables found = planner::regime_tables(sets, shipped_devices());
  std::vector<reports::Table> tables;
  for (const auto& what : planner::kLeftOutNames) {
    if (options.leave_out != what.name && options.leave_out != "all") continue;
    tables.push_back(named(std::string(what.name), reports::left_out_table(what.value, found)));
  }
  tables.push_back(named("regimes", reports::regimes_table(found)));
  if (options.leave_out == "all") {
    tables.push_back(
        named("choices_cluster",
              reports::reliability_table("Software known, cluster not",
                                         planner::choices_of(planner::LeftOut::cluster, sets))));
    tables.push_back(
        named("choices_framework",
              reports::reliability_table("Software not known",
                                         planner::choices_of(planner::LeftOut::framework, sets))));
  }
  if (!options.spreads_out.empty()) {
    const std::string source = fmt::format(
        "{}: {} rows of the list; each spread is of held-out predictions "
        "(docs/validation). Meaning: sim/step/step_interval.h. Method: "
        "planner/accuracy/regime_fit.h",
        command, sets.size());
    write_file_atomically(options.spreads_out,
                          reports::spreads_to_json(found, source).dump(2) + "\n");
  }
  write_output(options.output, tables, reports::regime_tables_to_json(found).dump(2) + "\n");
  return kDone;
}

// Prints learning curves for each machine of each data set that has ten runs or more.
int print_learning(const AccuracyOptions& options, const std::string& list) {
  constexpr std::size_t kFewestRuns = 10;
  const std::vector<planner::ListedSet> sets = listed_sets(list, options);
  const planner::ClustersOfSets clusters = planner::clusters_of(sets);
  std::vector<planner::LearningCurve> curves;
  for (const planner::ListedSet& set : sets) {
    for (const planner::ListedSet& piece : planner::pieces_of(set, true)) {
      if (planner::set_errors(piece.set).errors.size() < kFewestRuns) continue;
      curves.push_back(planner::learning_curve(planner::without_clusters(piece.set, clusters),
                                               {0, 1, 2, 3, 5, 10}));
    }
  }
  const reports::Table table = reports::learning_table(curves);
  write_output(options.output, {table}, reports::learning_to_json(curves).dump(2) + "\n");
  return kDone;
}

int run_accuracy(const AccuracyOptions& options, const std::string& command) {
  const std::string list = require_config(options.list, "accuracy");
  if (!options.leave_out.empty()) return print_regimes(options, list, command);
  if (options.learning) return print_learning(options, list);
  std::vector<reports::AccuracyResult> results;
  int past = 0;
  int absent = 0;
  for (const planner::AccuracyRow& row :
       planner::accuracy_rows_from_json(read_json_file(list), list)) {
    const std::string file = file_of(row, options);
    if (file.empty()) {
      ++absent;
      continue;
    }
    results.push_back(judged(row, file, list));
    const auto broken = planner::past_limits(row.limits, results.back().score);
    if (broken.empty()) continue;
    ++past;
    say("exceeds its limit: {}: {}\n", row.name, fmt::join(broken, "; "));
  }
  if (absent > 0) {
    say("{} rows are skipped: their data sets are neither next to the list nor in "
        "--data\n",
        absent);
  }
  write_output(options.output, {reports::accuracy_table(results)},
               reports::accuracy_to_json(results).dump(2) + "\n");
  if (results.empty()) {
    say("No data set of the list could be predicted.\n");
    return kGateFailed;
  }
  return options.gate && past > 0 ? kGateFailed : kDone;
}

}  // namespace

void add_accuracy(Commands& commands) {
  auto options = std::make_shared<AccuracyOptions>();
  Command& command = commands.add(
      "accuracy", "Predict lists of measured runs and print the errors, data set by data set");
  command.reads("list", options->list,
                "List of data sets: a file (schema meshwright.accuracy/1) or a name from "
                "configs/accuracy. Default: published",
                "accuracy");
  command.also_reads("list (named in it)", [options] { return files_in_list(*options); });
  command.options().add_option("--data", options->data,
                               "Folder with the data sets that are not stored next to the list");
  command.options().add_flag("--gate", options->gate,
                             "Exit with 1 if a row exceeds a limit of the list");
  command.options()
      .add_option("--leave-out", options->leave_out,
                  "Print the errors behind the intervals, with each data set's framework, cluster "
                  "or device held out, or each of its groups of runs. Values: framework, cluster, "
                  "device, groups, all")
      ->check(CLI::IsMember({"framework", "cluster", "device", "groups", "all"}).description(""));
  command.writes("--spreads-out", options->spreads_out,
                 "Write the spread of each calibration level to this file, in the form of "
                 "configs/spreads");
  command.options().add_flag(
      "--learning", options->learning,
      "Print how much a few calibration runs of a machine improve the prediction of "
      "its other runs");
  command.only_with("--spreads-out", "--leave-out");
  command.never_with("--learning", {"--leave-out", "--gate"});
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_accuracy(*options, call.text()); });
}

}  // namespace meshwright::app
