// SPDX-License-Identifier: Apache-2.0
#include "app/commands/calibrate.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <sstream>

#include "app/calibration_run.h"
#include "app/calibration_workload.h"
#include "app/commands/backend_options.h"
#include "app/files.h"
#include "app/program.h"
#include "calibrate/backends/module.h"
#include "calibrate/launch.h"
#include "sim/error.h"
#include "sim/json/reader.h"

namespace meshwright::app {
namespace {

constexpr double kLongestBudget = 24.0 * 3600.0;
// Beyond the budget: starting ranks, one slow last point, the repetition of noisy ones.
constexpr double kSlackSeconds = 600.0;

struct Options {
  std::string out = "profile.json";
  std::string budget = "60s";
  int ranks = 0;
  std::string model_and_job;
  std::string backend = "cpu";
  std::string mpirun_args;
};

// "90", "90s" or "2m".
double parse_budget(const std::string& text) {
  double value = 0.0;
  std::string unit;
  std::istringstream stream(text);
  stream >> value >> unit;
  const bool known = unit.empty() || unit == "s" || unit == "m";
  const double seconds = unit == "m" ? 60.0 * value : value;
  if (stream.bad() || !known || !(seconds >= 1.0 && seconds <= kLongestBudget)) {
    throw InputError("--budget", "", fmt::format("must be 1s to 1440m, is \"{}\"", text),
                     "for example --budget 90s or --budget 5m");
  }
  return seconds;
}

// A GPU is calibrated alone unless told how many there are; cores share memory, so all of them.
int ranks_to_start(const Options& options) {
  if (options.ranks > 0) return options.ranks;
  return options.backend == "cpu" ? std::max(2, calibrate::usable_cores()) : 1;
}

CalibrationRun describe_run(const Options& options, int ranks) {
  CalibrationRun run;
  run.out = options.out;
  run.backend = options.backend;
  run.options.budget_seconds = parse_budget(options.budget);
  const std::size_t comma = options.model_and_job.find(',');
  const std::string model = options.model_and_job.substr(0, comma);
  run.next = fmt::format("meshwright plan --model {} --cluster {}",
                         model.empty() ? "MODEL.json" : model, options.out);
  if (model.empty()) return run;
  const bool has_job = comma != std::string::npos;
  const Job job = has_job ? load_job(options.model_and_job.substr(comma + 1)) : Job{};
  if (has_job) run.next += " --job " + options.model_and_job.substr(comma + 1);
  run.options.workload = calibration_workload(load_model(model), job, ranks);
  return run;
}

int start_ranks(const Options& options, int ranks) {
  const int cores = calibrate::usable_cores();
  if (options.backend == "cpu" && ranks > cores && !calibrate::environment_places_ranks()) {
    fmt::print(
        stderr,
        "warning: {} ranks share {} cores: they wait for each other and times will be noisy; "
        "--ranks {} measures cleanly\n",
        ranks, cores, cores);
  }
  const calibrate::LaunchOptions launch{
      .mpirun_arguments = words(options.mpirun_args),
      .time_limit_seconds = 2.0 * parse_budget(options.budget) + kSlackSeconds};
  const auto outcome = calibrate::launch_ranks(ranks, calibrate::this_program(), launch);
  if (outcome.ok()) return kDone;
  const std::string who =
      outcome.rank >= 0 ? fmt::format("rank {} on {}: ", outcome.rank, outcome.host) : "";
  throw SystemError(fmt::format("calibration ended early: {}{}", who, outcome.cause),
                    fmt::format("points measured so far are in {}", partial_file(options.out)));
}

int run(const Options& options) {
  const auto place = calibrate::find_rank_place(calibrate::process_environment());
  const int ranks = place && place->size > 0 ? place->size : ranks_to_start(options);
  const CalibrationRun described = describe_run(options, ranks);
  if (place) return run_calibration_rank(described, *place);
  check_backend(options.backend);
  check_writable(options.out);
  return start_ranks(options, ranks);
}

}  // namespace

void add_calibrate(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measures this machine's GEMMs, memory and collectives into a profile");
  command->add_option("--out", options->out, "The profile to write; default: profile.json");
  command->add_option("--budget", options->budget, "Time to measure, such as 90s or 5m");
  command
      ->add_option("--ranks", options->ranks,
                   "Ranks to start; default: one a core, or 1 with cuda. Under srun or mpirun the "
                   "ranks are theirs")
      ->check(CLI::Range(1, 1'000'000).description(""));
  command->add_option("--for", options->model_and_job,
                      "MODEL[,JOB]: measures this model's own shapes first");
  command->add_option("--backend", options->backend, "cpu (with MPI) or cuda (with NCCL)");
  command->add_option("--mpirun-args", options->mpirun_args,
                      "Added to mpirun's arguments, such as \"--host a:4,b:4\"");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
