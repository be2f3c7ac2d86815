// SPDX-License-Identifier: Apache-2.0
#include "app/options/rank_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <utility>

#include "app/console/exit_code.h"
#include "app/console/process.h"
#include "app/console/terminal.h"
#include "calibrate/backends/backend.h"
#include "calibrate/backends/gpu_presence.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

constexpr double kLongestDuration = 24.0 * 3600.0;

using calibrate::UnusableCuda;

// Nothing: GPUs can be used.
std::optional<UnusableCuda> why_no_gpus() {
  const std::vector<std::string>& built = calibrate::built_modules();
  if (std::find(built.begin(), built.end(), "cuda") == built.end()) {
    return UnusableCuda{.kind = UnusableCuda::Kind::not_built, .reason = "it was not built"};
  }
  try {
    std::string reason = calibrate::open_backend("cuda").unavailable();
    if (reason.empty()) return std::nullopt;
    return UnusableCuda{.kind = UnusableCuda::Kind::not_usable, .reason = std::move(reason)};
  } catch (const SystemError& error) {
    return UnusableCuda{.kind = UnusableCuda::Kind::not_opened, .reason = error.what()};
  }
}

std::optional<std::string> visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

void add_rank_options(CLI::App& command, RankOptions& options, const std::string& default_ranks) {
  command
      .add_option(
          "--ranks", options.ranks,
          fmt::format("Ranks to start. Default: {}. Ignored under srun and mpirun, which start the "
                      "ranks",
                      default_ranks))
      ->check(CLI::Range(1, 1'000'000).description(""));
  command.add_option(
      "--backend", options.backend,
      "Backend: cpu (with MPI) or cuda (with NCCL). Default: cuda if this host has a GPU");
  command.add_option("--mpirun-args", options.mpirun_args,
                     "Extra arguments for mpirun, for example \"--host a:4,b:4\"");
  command.add_option("--rank-timeout", options.timeout,
                     "Stop the job if a rank completes no operation for this long, from 1s to "
                     "1440m. Default: 30s");
  command.add_flag("--oversubscribe", options.oversubscribe,
                   fmt::format("Allow more than {} ranks per core", kMostRanksPerCore));
}

double parse_duration(const std::string& option, const std::string& text) {
  double value = 0.0;
  std::string unit;
  std::istringstream stream(text);
  stream >> value >> unit;
  const bool known = unit.empty() || unit == "s" || unit == "m";
  const double seconds = unit == "m" ? 60.0 * value : value;
  if (stream.bad() || !known || !(seconds >= 1.0 && seconds <= kLongestDuration)) {
    throw InputError(option, "", fmt::format("must be 1s to 1440m (got \"{}\")", text),
                     fmt::format("use for example {0} 90s or {0} 5m", option));
  }
  return seconds;
}

void choose_backend(RankOptions& options, bool gpus_wanted) {
  if (!options.backend.empty()) return;
  options.backend = "cpu";
  if (!gpus_wanted) return;
  const std::optional<UnusableCuda> unusable = why_no_gpus();
  if (!unusable) {
    options.backend = "cuda";
    return;
  }
  const std::string notice =
      calibrate::cores_instead(calibrate::find_gpus(), *unusable, visible_devices());
  if (!notice.empty()) say("{}\n", notice);
}

int devices_here(const RankOptions& options) {
  const int devices = calibrate::open_backend(options.backend).num_devices();
  return devices > 0 ? devices : calibrate::usable_cores();
}

std::vector<std::string> rank_program(const RankOptions& options,
                                      std::vector<std::string> arguments) {
  const bool said = std::any_of(arguments.begin(), arguments.end(), [](const std::string& a) {
    return a == "--backend" || a.starts_with("--backend=");
  });
  if (!said) arguments.insert(arguments.end(), {"--backend", options.backend});
  return calibrate::this_program(arguments);
}

void check_backend(const std::string& backend) {
  if (backend != "cpu" && backend != "cuda") {
    throw InputError("--backend", "", fmt::format("must be cpu or cuda (got \"{}\")", backend),
                     did_you_mean(backend, {"cpu", "cuda"}));
  }
  const std::string reason = calibrate::open_backend(backend).unavailable();
  if (!reason.empty()) throw SystemError("backend " + backend + ": " + reason);
}

void check_crowding(const RankOptions& options, int ranks, int cores) {
  if (options.oversubscribe || ranks <= kMostRanksPerCore * cores) return;
  throw InputError(
      "--ranks", "",
      fmt::format("{} ranks on {} cores are more than {} per core; they would wait for each "
                  "other most of the time",
                  ranks, cores, kMostRanksPerCore),
      fmt::format("use --ranks {}, or --oversubscribe to start them anyway",
                  kMostRanksPerCore * cores));
}

calibrate::LaunchOutcome start_ranks(const RankOptions& options, int ranks,
                                     const std::vector<std::string>& program, double time_limit) {
  const calibrate::LaunchOptions launch{
      .mpirun_arguments = split_words(options.mpirun_args),
      .time_limit_seconds = time_limit,
      .rank_timeout_seconds = parse_duration("--rank-timeout", options.timeout),
      .core_a_rank = options.backend == "cpu",
      .places = devices_here(options)};
  const int cores = calibrate::usable_cores();
  if (calibrate::stays_on_this_machine(launch.mpirun_arguments)) {
    check_crowding(options, ranks, cores);
    if (options.backend == "cpu" && ranks > cores) {
      say("warning: {} ranks share {} cores. They wait for each other, and times are "
          "noisy. Use --ranks {} for reliable times.\n",
          ranks, cores, cores);
    }
  }
  return calibrate::launch_ranks(ranks, program, launch);
}

int failed_job(const calibrate::LaunchOutcome& outcome, const std::string& job,
               const std::string& kept) {
  if (outcome.signal == SIGPIPE) return kSystemFailure;  // not done, and nobody reads any more
  if (outcome.signal != 0) {
    say("meshwright: {} interrupted; {}\n", job, kept);
    return interrupted(outcome.signal);
  }
  const std::string who =
      outcome.rank >= 0 ? fmt::format("rank {} on {}: ", outcome.rank, outcome.host) : "";
  throw SystemError(fmt::format("{} ended early: {}{}", job, who, outcome.cause), kept);
}

}  // namespace meshwright::app
