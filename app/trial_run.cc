// SPDX-License-Identifier: Apache-2.0
#include "app/trial_run.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

#include "app/output_file.h"
#include "app/program.h"
#include "app/rank_machine.h"
#include "app/terminal.h"
#include "app/trial_trace.h"
#include "calibrate/backends/backend.h"
#include "calibrate/host_speed.h"
#include "reports/table.h"
#include "sim/base/error.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

constexpr std::string_view kTrialsSchema = "meshwright.trials/1";

void write_trials(const TrialRun& run, const std::vector<Observation>& observations) {
  Json json = reports::artefact(kTrialsSchema, run.origin);
  json["plan"] = {{"file", run.plan}};
  Json list = Json::array();
  for (const Observation& o : observations) list.push_back(to_json(o));
  json["observations"] = std::move(list);
  write_file_atomically(run.out, json.dump(2) + "\n");
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

// "noisy": median and ranking may be the host's, not the layout's.
std::string host_text(const Observation& o) {
  if (is_noisy(o)) {
    return "noisy: " + noise_words(step_time_error(o), o.step_time_drift, o.host_time_ratio);
  }
  return o.host_time_ratio ? "steady, " + host_speed_words(*o.host_time_ratio) : "steady";
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
    table.rows.push_back({short_name(o.layout), static_cast<double>(o.ranks),
                          static_cast<double>(o.run_layers), ms(o.step_time), ms(o.step_time_p10),
                          ms(o.step_time_p90), host_text(o), o.tokens_per_second,
                          o.peak_memory / mebibytes(1),
                          o.complete ? std::string("all was run") : joined(o.not_run)});
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

// What lies between two looks at the host's speed has both.
std::optional<double> between(std::optional<double> before, std::optional<double> after) {
  if (!before || !after) return std::nullopt;
  return std::sqrt(*before * *after);
}

void run_layouts(const TrialRun& run, calibrate::Compute& compute, calibrate::Communicator& world) {
  std::vector<Observation> observations;
  std::unique_ptr<calibrate::HostSpeed> speed;
  std::optional<double> before;
  if (run.profile) {
    speed = std::make_unique<calibrate::HostSpeed>(run.profile->points, compute, world);
    before = speed->time_ratio();
  }
  const bool writes = world.rank() == 0;
  for (const Layout& layout : run.layouts) {
    if (writes) {
      say("trial: {} of {}: {}\n", observations.size() + 1, run.layouts.size(), short_name(layout));
    }
    observations.push_back(
        calibrate::run_trial(run.model, run.job, layout, compute, world, run.options));
    if (speed) {
      const std::optional<double> after = speed->time_ratio();
      observations.back().host_time_ratio = between(before, after);
      before = after;
    }
    const bool last = observations.size() == run.layouts.size();
    if (writes && (last || run.out != "-")) write_trials(run, observations);
  }
  if (writes) write_trace(run, observations);
  if (!writes || run.out == "-") return;
  print("{}\n", reports::table_to_text(trials_table(observations), terminal_width()));
  if (run.options.mode == TrialMode::training) {
    print("next: meshwright validate {} {}\n", run.plan, run.out);
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
