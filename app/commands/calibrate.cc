// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/files/point_journal.h"
#include "app/files/profile_files.h"
#include "app/files/serving_files.h"
#include "app/options/command.h"
#include "app/options/rank_options.h"
#include "app/runs/calibration_run.h"
#include "calibrate/backends/backend.h"
#include "calibrate/launch/launch.h"
#include "calibrate/service_check.h"
#include "calibrate/service_workload.h"
#include "calibrate/workload.h"
#include "planner/search/candidates.h"
#include "sim/base/error.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

// Beyond the budget: starting ranks, one slow last point, the repetition of noisy ones.
constexpr double kCalibrationSlackSeconds = 600.0;
constexpr int kMostProfiles = 4096;  // of one merge

struct CalibrateOptions {
  std::string out = "profile.json";
  bool has_out = false;  // it was asked for
  std::string budget = "60s";
  RankOptions ranks;
  std::string model_and_job;
  std::string check;
  double max_drift_percent = 15.0;
  std::vector<std::string> imports;
  std::string onto;
  bool force = false;
  std::string plot;
};

// Every device: GPUs share links, cores share memory.
int calibrating_ranks(const CalibrateOptions& options) {
  if (options.ranks.ranks > 0) return options.ranks.ranks;
  const int devices = devices_here(options.ranks);
  return options.ranks.backend == "cpu" ? std::max(2, devices) : devices;
}

void say_devices(const CalibrateOptions& options, int ranks) {
  if (options.ranks.backend == "cpu") return;
  const int here = devices_here(options.ranks);
  const std::string which = ranks > here
                                ? fmt::format("{} GPUs, {} of them of this host", ranks, here)
                                : fmt::format("{} of {} GPUs of this host", ranks, here);
  say("calibrate: measuring {} (--backend cpu measures the CPU cores)\n", which);
}

// Returns the work that the model's layouts over these ranks would run.
calibrate::Workload workload(const Model& model, const Job& job, int ranks, DeviceKind kind) {
  const Job measured = calibrate::as_calibrated(job, kind);
  return calibrate::workload_of(model, measured, planner::candidates(model, measured, ranks));
}

// "MODEL,JOB,ENGINE"; empty: not given.
struct MeasuredFor {
  std::string model, job, engine;
};
MeasuredFor measured_for(const std::string& names) {
  const std::size_t first = std::min(names.find(','), names.size());
  const std::size_t rest = std::min(first + 1, names.size());
  const std::size_t second = std::min(names.find(',', rest), names.size());
  return {names.substr(0, first), names.substr(rest, second - rest),
          names.substr(std::min(second + 1, names.size()))};
}

// Powers of two that cut the model's heads, up to these ranks.
std::vector<int> served_tensor_sizes(const Model& model, int ranks) {
  std::vector<int> sizes;
  for (int size = 1; size <= ranks; size *= 2) {
    if (model.num_attention_heads % size == 0) sizes.push_back(size);
  }
  return sizes;
}

// Returns the cluster as the options describe it. The ranks read names and sizes of devices later.
Cluster known_cluster(const CalibrateOptions& options) {
  Cluster cluster = load_cluster(options.onto);
  const bool measures_cores = options.ranks.backend == "cpu";
  if (measures_cores != (only_device(cluster).kind == DeviceKind::cpu)) {
    throw InputError("--onto", "",
                     fmt::format("{} has devices of kind {}, --backend {} measures {}",
                                 cluster.name, name_of(only_device(cluster).kind),
                                 options.ranks.backend, measures_cores ? "cores" : "GPUs"),
                     "use a cluster with the same devices; meshwright cluster list shows them");
  }
  return cluster;
}

CalibrationRun describe_calibration(const CalibrateOptions& options, int ranks, const Call& call) {
  CalibrationRun run;
  run.origin = call.origin();
  run.out = options.out;
  run.backend = options.ranks.backend;
  run.rank_timeout = seconds(parse_duration("--rank-timeout", options.ranks.timeout));
  run.options.budget_seconds = parse_duration("--budget", options.budget);
  run.check = options.check;
  run.max_drift = options.max_drift_percent / 100.0;
  const auto [model, job_name, engine] = measured_for(options.model_and_job);
  if (!options.onto.empty()) run.options.onto = known_cluster(options);
  run.next = Call{{"cluster", "show", options.out}}.text();
  if (model.empty()) return run;
  const bool has_job = !job_name.empty();
  const Job job = has_job ? load_job(job_name) : Job{};
  Call next{{"plan", "--model", model, "--cluster", options.out}};
  if (has_job) next = next.with({"--job", job_name});
  run.next = next.text();
  const Model measured = load_model(model);
  const bool cores = options.ranks.backend == "cpu";
  run.options.workload = workload(measured, job, ranks, cores ? DeviceKind::cpu : DeviceKind::gpu);
  if (engine.empty()) return run;
  const Engine served = load_engine(engine);
  const double number_bytes = cores ? 4.0 : 2.0;
  const std::vector<int> sizes = served_tensor_sizes(measured, ranks);
  calibrate::add_service(run.options.workload, measured, sizes, number_bytes);
  for (const int size : sizes) {
    for (int stages = 1; size * stages <= ranks; stages *= 2) {
      const auto service = calibrate::service_alone(measured, served, size, stages);
      if (service) run.options.workload.services.push_back(*service);
    }
  }
  run.next = Call{{"serve", "--model", model, "--cluster", options.out, "--engine", engine}}.text();
  return run;
}

int start_calibration(const CalibrateOptions& options, int ranks, const Call& call) {
  say_devices(options, ranks);
  const double time_limit =
      2.0 * parse_duration("--budget", options.budget) + kCalibrationSlackSeconds;
  const auto begin = std::filesystem::file_time_type::clock::now();
  const auto outcome =
      start_ranks(options.ranks, ranks, rank_program(options.ranks, call.arguments), time_limit);
  if (outcome.ok()) return kDone;
  if (!options.check.empty() && outcome.exit_code == kRankSawDrift) return kGateFailed;
  if (options.check.empty() && outcome.exit_code == kRankDroppedPoints) return kGateFailed;
  return failed_job(
      outcome, "calibration",
      written_since(partial_file(options.out), begin)
          ? fmt::format("the points measured so far are in {}; run the same command to continue",
                        partial_file(options.out))
          : "no point was measured");
}

// A check takes as many ranks as the profile has.
int ranks_of(const CalibrateOptions& options) {
  if (options.ranks.ranks > 0 || options.check.empty()) return calibrating_ranks(options);
  const calibrate::Profile profile = load_profile(options.check);
  return profile.num_ranks > 0 ? profile.num_ranks : profile.cluster.num_gpus();
}

int measure_machine(CalibrateOptions options, const Call& call) {
  const auto environment = calibrate::process_environment();
  const auto place = calibrate::place_of_started_rank(environment);
  // A check measures what the profile is of.
  choose_backend(options.ranks,
                 options.check.empty() ||
                     only_device(load_profile(options.check).cluster).kind == DeviceKind::gpu);
  if (!place) check_backend(options.ranks.backend);
  const int ranks = place && place->size > 0 ? place->size : ranks_of(options);
  const CalibrationRun described = describe_calibration(options, ranks, call);
  if (place) return run_calibration_rank(described, *place, calibrate::started_by_us(environment));
  if (options.check.empty()) check_journal(partial_file(options.out));
  return start_calibration(options, ranks, call);
}

int run_calibrate(const CalibrateOptions& options, const Call& call) {
  if (!options.plot.empty()) {
    plot_profile(options.plot, options.has_out ? options.out : "-");
    return kDone;
  }
  if (!options.imports.empty()) {
    import_measurements(options.imports, options.onto, options.out, options.force, call.origin());
    return kDone;
  }
  return measure_machine(options, call);
}

void add_merge(Commands& commands, Command& calibrate) {
  struct Files {
    std::vector<std::string> profiles;
    std::string out = "profile.json";
  };
  auto files = std::make_shared<Files>();
  Command& merge = commands.add_below(
      calibrate, "merge",
      "Merge the profiles of equal nodes and print how much their devices differ");
  merge.reads("profiles", files->profiles, "Two or more profiles of the same device")
      ->required()
      ->expected(2, kMostProfiles);
  merge.writes("-o,--out", files->out, "Profile to write. Default: profile.json");
  merge.runs([files](const Call& call) {
    merge_profiles(files->profiles, files->out, call.origin());
    return kDone;
  });
}

// A check writes nothing, a plot only what it is asked for.
std::vector<std::string> outputs_of(const CalibrateOptions& options) {
  if (!options.check.empty()) return {};
  if (!options.plot.empty() && !options.has_out) return {};
  if (!options.plot.empty() || !options.imports.empty()) return {options.out};
  return {options.out, partial_file(options.out)};
}

void add_files(Command& command, const std::shared_ptr<CalibrateOptions>& options) {
  command.options()
      .add_option("--out", options->out, "Profile to write. Default: profile.json")
      ->each([options](const std::string&) { options->has_out = true; });
  command.also_writes("--out", [options] { return outputs_of(*options); });
  command.options().add_option("--for", options->model_and_job,
                               "Measure the shapes of MODEL[,JOB[,ENGINE]] first; with an engine "
                               "those of its service, too");
  command.also_reads("--for", [options] {
    const MeasuredFor names = measured_for(options->model_and_job);
    std::vector files{find_config(names.model, "models"), find_config(names.job, "jobs")};
    if (!names.engine.empty()) files.push_back(find_config(names.engine, "engines"));
    return files;
  });
  command.reads("--check", options->check,
                "Measure a tenth of this profile again; exit with 1 if the machine has drifted");
  command.reads("--import", options->imports,
                "Add the results of another tool: nccl-tests (text or JSON), ib_write_bw, "
                "nvbandwidth, mamf-finder, BabelStream, flash-attention's benchmark, a PyTorch "
                "profiler trace, an nsys export (SQLite), DeepEP's tests or scripts/gpu-reference "
                "--attention");
  command.reads("--onto", options->onto,
                "Cluster (or, with --import, profile) to start from, for example "
                "hgx-h100-400g. Measured or imported numbers replace its own; all others stay",
                "clusters");
  command.options().add_flag("--force", options->force,
                             "Import measurements of another device and record a note");
  command.only_with("--force", "--import");
  command.reads("--plot", options->plot,
                "Print the points of this profile next to the fitted models. --out FILE.html "
                "draws them");
}

}  // namespace

void add_calibrate(Commands& commands) {
  auto options = std::make_shared<CalibrateOptions>();
  Command& command = commands.add(
      "calibrate", "Measure this machine's GEMMs, memory and collectives, and write a profile");
  CLI::App& flags = command.options();
  add_files(command, options);
  flags.add_option("--budget", options->budget, "Time to spend measuring, for example 90s or 5m");
  add_rank_options(flags, options->ranks, "one per core, one per GPU with cuda");
  flags
      .add_option("--max-drift", options->max_drift_percent,
                  "Drift in percent that --check allows in addition to the noise. Default: 15")
      ->check(CLI::Range(0.1, 1000.0).description(""));
  command.only_with("--max-drift", "--check");
  const std::vector<std::string> measuring{"--budget", "--ranks", "--for", "--backend",
                                           "--mpirun-args"};
  command.never_with("--import", measuring);
  command.never_with("--plot", measuring);
  command.never_with("--import", {"--plot", "--check"});
  command.never_with("--check", {"--plot", "--out", "--onto"});
  command.never_with("--plot", {"--onto"});
  add_merge(commands, command);
  command.runs([options](const Call& call) { return run_calibrate(*options, call); });
}

}  // namespace meshwright::app
