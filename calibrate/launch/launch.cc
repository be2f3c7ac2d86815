// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch/launch.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "calibrate/launch/child_process.h"
#include "calibrate/launch/rank_failure.h"
#include "calibrate/launch/rank_hosts.h"
#include "calibrate/launch/rank_place.h"
#include "calibrate/launch/rank_watch.h"
#include "calibrate/launch/scratch_folder.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::calibrate {
namespace {

namespace fs = std::filesystem;

constexpr char kStartedByUs[] = "MESHWRIGHT_STARTED_RANKS";

// Empty where it is not there.
std::string find_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    if (folder.empty()) continue;
    const fs::path candidate = fs::path(folder) / program;
    if (access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return "";
}

// One rank needs no launcher: MPI starts alone, and looks for no daemon of its own.
constexpr std::array<std::pair<const char*, const char*>, 5> kRankAlone{
    {{kOwnRank, "0"},
     {kOwnRanks, "1"},
     {kOwnLocalRank, "0"},
     {"OMPI_MCA_ess_singleton_isolated", "1"},
     {kStartedByUs, "1"}}};

// Open MPI takes OMPI_MCA_* variables as its parameters: no warnings about networks that a machine
// does not have. It refuses to run as root unless told twice.
std::vector<std::pair<std::string, std::string>> rank_environment(const LaunchOptions& options) {
  std::vector<std::pair<std::string, std::string>> result = {
      {"OMP_NUM_THREADS", "1"},
      {"OMPI_MCA_btl_base_warn_component_unused", "0"},
      {"OMPI_MCA_mca_base_component_show_load_errors", "0"},
  };
  if (geteuid() == 0) {
    result.emplace_back("OMPI_ALLOW_RUN_AS_ROOT", "1");
    result.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
  }
  result.insert(result.end(), options.environment.begin(), options.environment.end());
  return result;
}

void note_root_once() {
  static bool noted = false;
  if (noted || geteuid() != 0 || std::getenv("OMPI_ALLOW_RUN_AS_ROOT") != nullptr) return;
  noted = true;
  fmt::print(stderr, "note: running as root; mpirun is told to allow it\n");
}

LaunchOutcome outcome_of(const ChildEnd& end, const RankFailure& failure, bool stuck) {
  LaunchOutcome outcome;
  outcome.exit_code =
      WIFSIGNALED(end.wait_status) ? 128 + WTERMSIG(end.wait_status) : WEXITSTATUS(end.wait_status);
  if (end.timed_out) {
    outcome.cause = "the ranks did not end within the time limit";
  } else if (end.signal != 0) {
    outcome.signal = end.signal;
    outcome.cause = "interrupted";
  } else if (outcome.exit_code != 0 || stuck) {
    outcome.rank = failure.rank;
    outcome.host = failure.host.empty() ? host_name() : failure.host;
    outcome.cause = !failure.cause.empty()
                        ? failure.cause
                        : fmt::format("mpirun ended with code {}", outcome.exit_code);
  }
  if (!outcome.cause.empty() && outcome.exit_code == 0) outcome.exit_code = 1;
  return outcome;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Reads the output of the ranks and of mpirun while they run, and the errors in it.
class Listener {
 public:
  Listener(int ranks, double timeout) : watch_(ranks, seconds(timeout), seconds_now()) {}

  ChildEvents events() {
    return {.stderr_line = [this](std::string_view line) { return read(line); },
            .must_end = [this] { return is_stuck(); }};
  }
  [[nodiscard]] RankFailure failure() const { return stuck_.value_or(reader_.failure()); }
  [[nodiscard]] bool stuck() const { return stuck_.has_value(); }

 private:
  LineUse read(std::string_view line) {
    if (watch_.read_line(line, seconds_now())) return LineUse::keep;
    reader_.read_line(line);
    return reader_.failure().cause.empty() ? LineUse::pass_on : LineUse::failure;
  }
  bool is_stuck() {
    if (!stuck_) stuck_ = watch_.stuck(seconds_now());
    return stuck_.has_value();
  }

  RankWatch watch_;
  RankFailureReader reader_;
  std::optional<RankFailure> stuck_;
};

}  // namespace

std::set<std::string> names_of_usable_cores() {
  std::set<std::string> cores;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
    cores.insert(siblings);
  }
  return cores;
}

int usable_cores() { return std::max(1, static_cast<int>(names_of_usable_cores().size())); }

// Open MPI 4 names them orte_ and hwloc_base_, Open MPI 5 prte_ and hwloc_default_.
bool environment_places_ranks() {
  constexpr std::array kVariables{
      "OMPI_MCA_orte_default_hostfile", "OMPI_MCA_hwloc_base_binding_policy",
      "PRTE_MCA_prte_default_hostfile", "PRTE_MCA_hwloc_default_binding_policy"};
  return std::any_of(kVariables.begin(), kVariables.end(),
                     [](const char* name) { return std::getenv(name) != nullptr; });
}

bool stays_on_this_machine(const std::vector<std::string>& mpirun_arguments) {
  constexpr std::array kHosts{"-H",         "-host",        "--host",        "-hostfile",
                              "--hostfile", "-machinefile", "--machinefile", "--default-hostfile"};
  return !environment_places_ranks() &&
         std::none_of(mpirun_arguments.begin(), mpirun_arguments.end(), [&](const auto& argument) {
           return std::find(kHosts.begin(), kHosts.end(), argument) != kHosts.end();
         });
}

bool runs_on_one_host(int ranks, int places, const std::vector<std::string>& mpirun_arguments,
                      const Environment& environment) {
  if (!stays_on_this_machine(mpirun_arguments)) return false;
  return !is_under_slurm(environment) || num_slurm_nodes(environment) == 1 || ranks <= places;
}

std::vector<std::pair<std::string, std::string>> slurm_ignored(const Environment& environment) {
  std::vector<std::pair<std::string, std::string>> settings;
  if (!is_under_slurm(environment)) return settings;
  for (const char* name : {"OMPI_MCA_ras", "OMPI_MCA_plm", "PRTE_MCA_ras", "PRTE_MCA_plm"}) {
    if (!environment.contains(name)) settings.emplace_back(name, "^slurm");
  }
  return settings;
}

std::vector<std::string> forwarded_variables(const Environment& environment) {
  constexpr std::array<std::string_view, 2> kBeginnings{"NCCL_", "MESHWRIGHT_"};
  std::vector<std::string> names;
  for (const auto& variable : environment) {
    const std::string& name = variable.first;
    const bool ours = std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                  [&](std::string_view begin) { return name.starts_with(begin); });
    if (ours || name == "LD_LIBRARY_PATH") names.push_back(name);
  }
  return names;
}

bool started_by_us(const Environment& environment) { return environment.contains(kStartedByUs); }

std::vector<std::string> mpirun_command(const std::string& mpirun, int ranks, int cores,
                                        const std::vector<std::string>& program,
                                        const LaunchOptions& options) {
  std::vector<std::string> command = {mpirun, "-np", std::to_string(ranks)};
  const std::vector<std::string> fits = {"--bind-to", "core"};
  const std::vector<std::string> crowded = {"--oversubscribe", "--bind-to", "none"};
  const std::vector<std::string> unbound = {"--bind-to", "none"};
  const auto& own_core = ranks <= cores ? fits : crowded;
  const auto& own_gpu = options.one_host ? crowded : unbound;
  const auto& binding = options.core_a_rank ? own_core : own_gpu;
  if (options.place_ranks) command.insert(command.end(), binding.begin(), binding.end());
  command.insert(command.end(), {"-x", "OMP_NUM_THREADS"});
  for (const auto& [name, value] : options.environment) {
    command.insert(command.end(), {"-x", name});
  }
  for (const std::string& name : options.forwarded) command.insert(command.end(), {"-x", name});
  command.insert(command.end(), options.mpirun_arguments.begin(), options.mpirun_arguments.end());
  command.insert(command.end(), program.begin(), program.end());
  return command;
}

LaunchOutcome launch_ranks(int ranks, const std::vector<std::string>& program,
                           const LaunchOptions& options) {
  const std::string mpirun = find_on_path("mpirun");
  const bool alone = mpirun.empty() && ranks == 1 && options.mpirun_arguments.empty();
  if (mpirun.empty() && !alone) {
    throw SystemError(
        "mpirun is not on PATH, so no ranks can be started",
        "apt install openmpi-bin, or start this command under srun or mpirun yourself; "
        "--ranks 1 needs none");
  }
  if (!alone) note_root_once();
  LaunchOptions ours = options;
  ours.place_ranks = options.place_ranks && !environment_places_ranks();
  ours.environment.emplace_back(kStartedByUs, "1");
  const Environment outer = process_environment();
  ours.forwarded = forwarded_variables(outer);
  const int places = options.places > 0 ? options.places : usable_cores();
  ours.one_host = runs_on_one_host(ranks, places, options.mpirun_arguments, outer);
  auto environment = rank_environment(ours);
  if (ours.one_host) {
    const auto settings = slurm_ignored(outer);
    environment.insert(environment.end(), settings.begin(), settings.end());
  }
  std::optional<ScratchFolder> sessions, memory;
  if (stays_on_this_machine(options.mpirun_arguments)) {
    sessions.emplace(fs::temp_directory_path().string());
    memory.emplace("/dev/shm");
    const auto scratch = scratch_environment(*sessions, *memory);
    environment.insert(environment.end(), scratch.begin(), scratch.end());
  }
  if (alone) {
    environment.insert(environment.end(), kRankAlone.begin(), kRankAlone.end());
  }
  Listener listener(ranks, options.rank_timeout_seconds);
  const ChildEnd end = run_child(
      {.command = alone ? program : mpirun_command(mpirun, ranks, usable_cores(), program, ours),
       .environment = environment,
       .time_limit_seconds = options.time_limit_seconds,
       .grace_seconds = kGraceSeconds},
      listener.events());
  return outcome_of(end, listener.failure(), listener.stuck());
}

std::vector<std::string> this_program(const std::vector<std::string>& arguments) {
  std::error_code error;
  std::vector<std::string> program = {fs::read_symlink("/proc/self/exe", error).string()};
  if (error) throw SystemError("cannot read /proc/self/exe: is /proc mounted?");
  program.insert(program.end(), arguments.begin(), arguments.end());
  return program;
}

}  // namespace meshwright::calibrate
