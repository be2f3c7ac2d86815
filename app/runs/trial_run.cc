// SPDX-License-Identifier: Apache-2.0
#include "app/runs/trial_run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/runs/rank_machine.h"
#include "app/runs/trial_trace.h"
#include "calibrate/backends/backend.h"
#include "calibrate/host_speed.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/measure/other_programs.h"
#include "calibrate/reference_step.h"
#include "calibrate/workload.h"
#include "reports/records/trials.h"
#include "reports/tables/table.h"
#include "reports/tables/table_text.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

constexpr double kMostOfTimeAgain = 0.5;

void write_trials(const TrialRun& run, const std::vector<Observation>& observations) {
  const Json json = reports::trials_record().write({run.origin, run.plan, observations});
  write_file_atomically(run.out, json.dump(2) + "\n");
}

// "noisy": median and ranking may be the host's, not the layout's.
std::string host_text(const Observation& o) {
  std::string words = "steady";
  if (is_noisy(o)) {
    words = "noisy: " + noise_words(o);
  } else if (o.host_time_ratio) {
    words += ", " + host_speed_words(*o.host_time_ratio);
  }
  return o.other_program ? words + "; " + other_program_words(*o.other_program) : words;
}

reports::Table trials_table(const std::vector<Observation>& observations) {
  reports::Table table{"Trials",
                       {{"layout", "layout", ""},
                        {"ranks", "ranks", ""},
                        {"run_layers", "layers", ""},
                        {"step_ms", "measured step", "ms"},
                        {"step_p10_ms", "p10", "ms"},
                        {"step_p90_ms", "p90", "ms"},
                        {"noise", "host", ""},
                        {"tokens_per_second", "tokens", "1/s"},
                        {"memory_mib", "peak memory", "MiB"},
                        {"not_run", "not run", ""}},
                       {}};
  for (const Observation& o : observations) {
    const auto ms = [](Seconds s) { return s / milliseconds(1); };
    if (!o.failure.empty()) {
      table.rows.push_back({short_name(o.layout), {}, {}, {}, {}, {}, {}, {}, {}, o.failure});
      continue;
    }
    table.rows.push_back(
        {short_name(o.layout), static_cast<double>(o.ranks), static_cast<double>(o.run_layers),
         ms(o.step_time), ms(o.step_time_p10), ms(o.step_time_p90), host_text(o),
         o.tokens_per_second, o.peak_memory / mebibytes(1),
         o.complete ? std::string("all was run") : fmt::format("{}", fmt::join(o.not_run, "; "))});
  }
  return table;
}

void write_trace(const TrialRun& run, const std::vector<Observation>& observations) {
  if (run.trace.empty()) return;
  reports::Trace trace = trial_trace(observations);
  trace.facts.emplace_back("tool_version", run.origin.tool_version);
  trace.facts.emplace_back("command", run.origin.command);
  write_file_atomically(run.trace, reports::trace_text(trace));
  say("wrote {}; ui.perfetto.dev and chrome://tracing open it\n", run.trace);
}

// Geometric mean of the checks of the host speed before and after a run; nothing if one is missing.
std::optional<double> between(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return std::sqrt(*before * *after);
}

class Trials {
 public:
  Trials(const TrialRun& run, calibrate::Compute& compute, calibrate::Communicator& world)
      : run_(run),
        options_(run.options),
        compute_(compute),
        world_(world),
        writes_(world.rank() == 0),
        others_(world) {
    if (!run.profile) return;
    if (run.options.mode == TrialMode::training) {
      references_ = calibrate::reference_steps(run.profile->points, run.model,
                                               calibrate::as_trials_run_it(run.job));
    }
    if (!references_.empty() && run.profile->num_ranks == world.size()) {
      options_.speed_reference = [this](const Layout& layout, auto& device, auto& ranks) {
        return reference_of(layout, device, ranks);
      };
      return;
    }
    speed_ = std::make_unique<calibrate::HostSpeed>(run.profile->points, compute, world);
    before_ = speed_->time_ratio();
  }

  const std::vector<Observation>& run_all() {
    const double start = calibrate::steady_clock_seconds();
    const std::size_t count = run_.layouts.size();
    for (std::size_t i = 0; i < count; ++i) {
      tell(fmt::format("{} of {}", i + 1, count), i);
      observations_.push_back(run_once(run_.layouts[i]));
      write_so_far();
    }
    repeat_noisy(calibrate::steady_clock_seconds() - start);
    if (writes_ && run_.out == "-") write_trials(run_, observations_);
    return observations_;
  }

 private:
  // A reference on fewer ranks than the calibration's would miss what they take from each other.
  std::unique_ptr<calibrate::SpeedReference> reference_of(const Layout& layout,
                                                          calibrate::Compute& device,
                                                          calibrate::Communicator& ranks) const {
    if (ranks.size() != run_.profile->num_ranks) return nullptr;
    const calibrate::ReferenceStep* nearest =
        calibrate::nearest_reference(references_, layout.micro_batch_size);
    return calibrate::start_reference(*nearest, device, ranks);
  }

  Observation run_once(const Layout& layout) {
    others_.since_last();
    Observation observation =
        calibrate::run_trial(run_.model, run_.job, layout, compute_, world_, options_);
    const std::optional<OtherProgram> other = others_.since_last();
    if (compute_.describe().device_kind() == DeviceKind::cpu) observation.other_program = other;
    if (!speed_) return observation;
    const std::optional<double> after = speed_->time_ratio();
    observation.host_time_ratio = between(before_, after);
    before_ = after;
    return observation;
  }

  // A host that was busy may be calm now. In the plan's order, for as long as kMostOfTimeAgain of
  // what all runs took.
  void repeat_noisy(double seconds_of_all) {
    const double start = calibrate::steady_clock_seconds();
    for (std::size_t i = 0; i < observations_.size(); ++i) {
      Observation& first = observations_[i];
      const bool time_left =
          calibrate::steady_clock_seconds() - start < kMostOfTimeAgain * seconds_of_all;
      // Only rank 0 has a whole observation.
      const bool wanted = writes_ && time_left && first.failure.empty() && is_noisy(first);
      if (world_.host_max(wanted ? 1.0 : 0.0) == 0.0) continue;
      tell("again, the host was loaded", i);
      first = calmer_of(std::move(first), run_once(run_.layouts[i]));
      write_so_far();
    }
  }

  void tell(const std::string& which, std::size_t layout) const {
    if (writes_) say("trial: {}: {}\n", which, short_name(run_.layouts[layout]));
  }

  // After each run, so that one that dies leaves what it had; a pipe gets all at once, at the end.
  void write_so_far() const {
    if (writes_ && run_.out != "-") write_trials(run_, observations_);
  }

  const TrialRun& run_;
  calibrate::TrialOptions options_;
  calibrate::Compute& compute_;
  calibrate::Communicator& world_;
  bool writes_;
  calibrate::OtherPrograms others_;
  // The host's speed: by steps of the model between a layout's own; where the profile has none of
  // this model and number of ranks, by some of its points around the layout.
  std::vector<calibrate::ReferenceStep> references_;
  std::unique_ptr<calibrate::HostSpeed> speed_;
  std::optional<double> before_;
  std::vector<Observation> observations_;
};

void run_layouts(const TrialRun& run, calibrate::Compute& compute, calibrate::Communicator& world) {
  Trials trials(run, compute, world);
  const std::vector<Observation>& observations = trials.run_all();
  if (world.rank() != 0) return;
  write_trace(run, observations);
  if (run.out == "-") return;
  print("{}\n", reports::table_to_text(trials_table(observations), terminal_width()));
  if (run.options.mode == TrialMode::training) {
    print("next: meshwright validate {} {}\n", reports::shell_word(run.plan),
          reports::shell_word(run.out));
  }
}

}  // namespace

int run_trial_rank(const TrialRun& run, const calibrate::RankPlace& place) {
  return on_rank_machine(run.backend, place, run.rank_timeout, [&](RankMachine& machine) {
    run_layouts(run, machine.compute, machine.world);
    return kDone;
  });
}

}  // namespace meshwright::app
