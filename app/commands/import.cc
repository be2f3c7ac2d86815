// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/measurements.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "interop/read_cluster/read_cluster.h"
#include "interop/tables/csv.h"
#include "interop/tables/measurement_map.h"
#include "sim/json/records.h"

namespace meshwright::app {
namespace {

struct ImportOptions {
  std::string table, map, out = "-";
};

int run_import(const ImportOptions& options) {
  const interop::CsvTable table = interop::read_csv(read_text_file(options.table), options.table);
  const interop::ConvertedTable converted = interop::measurements_from_csv(
      table, options.table, read_json_file(options.map), options.map);
  // The written file must be readable, so each run's model, cluster, job and layout are checked.
  planner::MeasuredSet read = measurements_from_json(
      converted.set, fmt::format("{} as {} says", options.table, options.map));
  Json set = converted.set;
  set["runs"] = Json::array();
  for (std::size_t i = 0; i < converted.places.size(); ++i) {
    const std::string pointer = fmt::format("/runs/{}", i);
    const auto wrong =
        std::find_if(read.unread.begin(), read.unread.end(),
                     [&](const planner::UnreadRun& run) { return run.place == pointer; });
    if (wrong == read.unread.end()) {
      set["runs"].push_back(converted.set["runs"][i]);
    } else {
      *wrong = {options.table, converted.places[i], wrong->id, wrong->reason};
    }
  }
  if (!read.unread.empty()) {
    set["left_out"] = Json::array();
    for (const planner::UnreadRun& run : read.unread) {
      set["left_out"].push_back(planner::unread_run_record().write(run));
    }
  }
  say_unread(read);
  write_file_atomically(options.out, set.dump(1) + "\n");
  say("{} runs of {}\n", read.runs.size(), read.name);
  if (options.out != "-") say_next({{"backtest", options.out}});
  return kDone;
}

struct ImportedClusterOptions {
  std::vector<std::string> files;
  std::string onto, out = "-";
  bool force = false;
};

// Writes the facts that the tools' files state, and the source of the cluster.
int import_cluster(const ImportedClusterOptions& options, const Call& call) {
  std::vector<interop::ClusterFacts> all;
  reports::Origin origin = call.origin();
  for (const std::string& file : options.files) {
    const std::string text = read_text_file(file);
    all.push_back(interop::read_cluster_facts(text, file));
  }
  const interop::ClusterFacts facts = interop::merged(all);
  const Cluster base = load_cluster(options.onto, nullptr, &origin);
  interop::OverlaidCluster made = interop::overlaid(
      base, facts, fmt::format("{}", fmt::join(options.files, ", ")), options.force);
  made.cluster.name =
      options.out == "-" ? base.name : std::filesystem::path(options.out).stem().string();
  made.cluster.source = fmt::format("{} Sizes and wiring: {} ({}).", base.source, facts.tool,
                                    fmt::join(options.files, ", "));
  Json json = to_json(made.cluster);
  write_file_atomically(options.out, json.dump(2) + "\n");
  for (const interop::ClusterChange& change : made.changes) {
    say("{}: {} -> {}\n", change.field, change.before, change.after);
  }
  if (made.changes.empty()) say("{} is as the files say\n", base.name);
  for (const std::string& note : made.notes) say("{}\n", note);
  for (const std::string& note : facts.notes) say("{}\n", note);
  if (options.out != "-") say_next({{"cluster", "show", options.out}});
  return kDone;
}

void add_import_cluster(Commands& commands, Command& import) {
  Command& cluster = commands.add_below(
      import, "cluster",
      "Read topology and size of a machine from its own tools into a cluster of the "
      "same device");
  auto options = std::make_shared<ImportedClusterOptions>();
  cluster
      .reads("files", options->files,
             interop::cluster_formats_text() + ". Several files of one machine may be given")
      ->required();
  cluster
      .reads("--onto", options->onto,
             "Cluster that provides device, rates and framework: a file, a measured "
             "profile, or a name from configs/clusters",
             "clusters")
      ->required();
  cluster.writes("-o,--out", options->out, "Cluster to write. Default: standard output");
  cluster.options().add_flag("--force", options->force,
                             "Accept files of other devices, or of devices with other links");
  cluster.runs([options](const Call& call) { return import_cluster(*options, call); });
}

}  // namespace

void add_import(Commands& commands) {
  Command& command =
      commands.add("import", "Import measurements and machine descriptions of other tools");
  command.options().require_subcommand(1);
  auto options = std::make_shared<ImportOptions>();
  Command& measurements = commands.add_below(
      command, "measurements",
      "Turn a CSV table of measured runs into a data set for meshwright backtest");
  measurements.reads("table", options->table, "CSV file with one run per row")->required();
  measurements
      .reads("--map", options->map,
             "JSON file that maps columns to fields. Example: "
             "configs/datasets/example-map.json")
      ->required();
  measurements.writes("-o,--out", options->out, "Data set to write. Default: standard output");
  measurements.runs([options](const Call&) { return run_import(*options); });
  add_import_cluster(commands, command);
}

}  // namespace meshwright::app
