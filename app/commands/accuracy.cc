// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/commands/output.h"
#include "app/files.h"
#include "app/measurements.h"
#include "app/program.h"
#include "app/terminal.h"
#include "planner/accuracy/accuracy_list.h"
#include "reports/accuracy_table.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string list = "published";
  std::string data;
  bool gate = false;
  OutputOptions output;
};

// Beside the list, or in --data; nothing where the set is in neither.
std::string file_of(const planner::AccuracyRow& row, const Options& options) {
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
std::vector<std::string> files_in_list(const Options& options) {
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
  const planner::MeasuredSet set = planner::runs_of(row, load_measurements(file, where));
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

// What is wrong with a set is told with the row that names it.
reports::AccuracyResult judged(const planner::AccuracyRow& row, const std::string& file,
                               const std::string& list) {
  try {
    return result_of(row, file);
  } catch (const InputError& error) {
    throw InputError(list, "", fmt::format("row \"{}\": {}", row.name, error.what()), error.hint());
  }
}

int run(const Options& options) {
  const std::string list = require_config(options.list, "accuracy");
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
    say("past its limit: {}: {}\n", row.name, fmt::join(broken, "; "));
  }
  if (absent > 0) {
    say("{} rows are left out: their sets lie neither beside the list nor in --data\n", absent);
  }
  write_output(options.output, {reports::accuracy_table(results)},
               reports::accuracy_to_json(results).dump(2) + "\n");
  if (results.empty()) {
    say("No set of the list could be judged.\n");
    return kGateFailed;
  }
  return options.gate && past > 0 ? kGateFailed : kDone;
}

}  // namespace

void add_accuracy(Commands& commands) {
  auto options = std::make_shared<Options>();
  Command& command =
      commands.add("accuracy", "The model's errors over a list of sets of measured runs");
  command.reads("list", options->list,
                "List of sets (schema meshwright.accuracy/1), or a name from configs/accuracy; "
                "default: published",
                "accuracy");
  command.also_reads("list (named in it)", [options] { return files_in_list(*options); });
  command.options().add_option("--data", options->data,
                               "Folder of sets that do not lie beside the list");
  command.options().add_flag("--gate", options->gate,
                             "Exit 1 when a row is past the limits that the list sets");
  add_output_options(command, options->output);
  command.runs([options](const Call&) { return run(*options); });
}

}  // namespace meshwright::app
