// SPDX-License-Identifier: Apache-2.0
#include "app/runs/serving_trial_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/runs/rank_machine.h"
#include "calibrate/host_speed.h"
#include "calibrate/measure/measurement.h"
#include "calibrate/service_reference.h"
#include "reports/records/serving_trials.h"
#include "reports/tables/table.h"
#include "reports/tables/table_text.h"
#include "reports/text/text.h"

namespace meshwright::app {
namespace {

void write_serving_trials(const ServingTrialRun& run,
                          const std::vector<ServingObservation>& observations) {
  const Json json = reports::serving_trials_record().write({run.origin, run.plan, observations});
  write_file_atomically(run.out, json.dump(1) + "\n");
}

std::string bytes_text(const ServingObservation& o) {
  const auto steps = std::count_if(o.steps.begin(), o.steps.end(),
                                   [](const auto& step) { return !step.bytes_as_said; });
  const auto caches = std::count_if(o.handovers.begin(), o.handovers.end(),
                                    [](const auto& one) { return !one.bytes_as_said; });
  if (steps == 0 && caches == 0) return "as predicted";
  if (caches == 0) return fmt::format("{} of {} steps not as predicted", steps, o.steps.size());
  return fmt::format("{} of {} steps and {} of {} caches not as predicted", steps, o.steps.size(),
                     caches, o.handovers.size());
}

reports::Table serving_trials_table(const ServingTrialRun& run,
                                    const std::vector<ServingObservation>& observations) {
  reports::Table table{"Served",
                       {{"deployment", "deployment", ""},
                        {"ranks", "ranks", ""},
                        {"requests", "requests", ""},
                        {"steps", "steps", ""},
                        {"decode_step_ms", "decode step", "ms"},
                        {"ttft_p50_ms", "p50 TTFT", "ms"},
                        {"tpot_mean_ms", "mean TPOT", "ms"},
                        {"tokens_per_second", "output tokens", "1/s"},
                        {"bytes", "bytes", ""},
                        {"not_run", "not run", ""}},
                       {}};
  for (std::size_t i = 0; i < observations.size(); ++i) {
    const ServingObservation& o = observations[i];
    const std::string name = planner::short_name(run.deployments[i]);
    if (!o.failure.empty()) {
      table.rows.push_back({name, {}, {}, {}, {}, {}, {}, {}, {}, o.failure});
      continue;
    }
    const ServingMetrics m = metrics_of(o.run);
    const auto ms = [](Seconds s) { return s / milliseconds(1); };
    table.rows.push_back({name, static_cast<double>(o.ranks), static_cast<double>(m.requests),
                          static_cast<double>(o.run.steps), ms(median_decode_step(o)),
                          ms(m.ttft.p50), ms(m.tpot.mean), m.output_tokens_per_second,
                          bytes_text(o), fmt::format("{}", fmt::join(o.not_run, "; "))});
  }
  return table;
}

ServingObservation serve(const ServingTrialRun& run, const planner::Deployment& deployment,
                         RankMachine& machine) {
  ServingScenario scenario = run.scenario;
  scenario.options = deployment.pool.options;
  if (!deployment.prefill) {
    return calibrate::run_serving_trial(scenario, deployment.pool.replicas, run.load,
                                        machine.compute, machine.world, run.options);
  }
  const calibrate::ServedPools pools{deployment.prefill->options, deployment.prefill->replicas,
                                     deployment.pool.replicas};
  return calibrate::run_pools_trial(scenario, pools, run.load, machine.compute, machine.world,
                                    run.options);
}

// How fast the host is: by steps of the model, in the deployment's layout if the profile has them;
// where it has none of the model, by some of its points.
class HostLook {
 public:
  HostLook(const ServingTrialRun& run, const planner::Deployment& deployment,
           RankMachine& machine) {
    if (!run.profile || run.profile->num_ranks != machine.world.size()) return;
    const ReplicaLayout& layout = deployment.pool.options.layout;
    steps_ = calibrate::start_service_reference(
        run.profile->points, run.scenario.model, run.scenario.engine, layout.tensor_parallel_size,
        layout.pipeline_parallel_size, machine.compute, machine.world);
    if (!steps_) {
      points_ = std::make_unique<calibrate::HostSpeed>(run.profile->points, machine.compute,
                                                       machine.world);
    }
  }
  // Times now over those of the profile; none: nothing says it. Collective.
  std::optional<calibrate::HostTimes> times() {
    if (steps_) return steps_->times();
    const auto ratio = points_ ? points_->time_ratio() : std::nullopt;
    if (!ratio) return std::nullopt;
    return calibrate::HostTimes{*ratio, {*ratio, *ratio}};
  }

 private:
  std::unique_ptr<calibrate::ServiceReference> steps_;
  std::unique_ptr<calibrate::HostSpeed> points_;
};

// Geometric means of a look before a run and one behind it.
calibrate::HostTimes between(const calibrate::HostTimes& before,
                             const calibrate::HostTimes& after) {
  return {std::sqrt(before.all * after.all),
          {std::sqrt(before.of_kind.decode * after.of_kind.decode),
           std::sqrt(before.of_kind.prompt * after.of_kind.prompt)}};
}

bool as_said(const ServingObservation& o) {
  return std::all_of(o.steps.begin(), o.steps.end(),
                     [](const auto& step) { return step.bytes_as_said; }) &&
         std::all_of(o.handovers.begin(), o.handovers.end(),
                     [](const auto& one) { return one.bytes_as_said; });
}

// The runs of a deployment. A short load of a host that others share takes another time a second
// later: the run of median duration stands for all. One that moved other bytes than predicted is
// never hidden.
class Runs {
 public:
  Runs(const ServingTrialRun& run, const planner::Deployment& deployment, RankMachine& machine)
      : run_(run),
        deployment_(deployment),
        machine_(machine),
        host_(run, deployment, machine),
        before_(host_.times()) {}

  // Collective. Whole on rank 0 alone.
  ServingObservation median_run() {
    const double start = calibrate::steady_clock_seconds();
    std::vector<ServingObservation> runs;
    bool again = true;
    while (again) {
      runs.push_back(run_once());
      const bool short_enough = calibrate::steady_clock_seconds() - start < kLongestRepeated;
      again = runs.back().failure.empty() && short_enough && runs.size() < kMostRuns;
      again = machine_.world.host_max(machine_.world.rank() == 0 && again ? 1.0 : 0.0) > 0.0;
    }
    const auto other = std::find_if_not(runs.begin(), runs.end(), as_said);
    if (other != runs.end()) return *other;
    const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
    std::nth_element(runs.begin(), middle, runs.end(),
                     [](const ServingObservation& a, const ServingObservation& b) {
                       return a.run.duration < b.run.duration;
                     });
    return *middle;
  }

 private:
  static constexpr double kLongestRepeated = 20.0;  // seconds
  static constexpr std::size_t kMostRuns = 3;

  ServingObservation run_once() {
    ServingObservation o = serve(run_, deployment_, machine_);
    const std::optional<calibrate::HostTimes> after = host_.times();
    if (before_ && after) {
      const calibrate::HostTimes host = between(*before_, *after);
      o.host_time_ratio = host.all;
      o.host_time_ratios = host.of_kind;
    }
    before_ = after;
    return o;
  }

  const ServingTrialRun& run_;
  const planner::Deployment& deployment_;
  RankMachine& machine_;
  HostLook host_;
  std::optional<calibrate::HostTimes> before_;
};

void serve_all(const ServingTrialRun& run, RankMachine& machine) {
  const bool writes = machine.world.rank() == 0;
  std::vector<ServingObservation> observations;
  for (std::size_t i = 0; i < run.deployments.size(); ++i) {
    const planner::Deployment& deployment = run.deployments[i];
    if (writes) {
      say("trial: {} of {}: {}\n", i + 1, run.deployments.size(), planner::short_name(deployment));
    }
    observations.push_back(Runs(run, deployment, machine).median_run());
    if (writes && run.out != "-") write_serving_trials(run, observations);
  }
  if (!writes) return;
  if (run.out == "-") return write_serving_trials(run, observations);
  print("{}\n", reports::table_to_text(serving_trials_table(run, observations), terminal_width()));
  print("next: meshwright validate {} {}\n", reports::shell_word(run.plan),
        reports::shell_word(run.out));
}

}  // namespace

int run_serving_trial_rank(const ServingTrialRun& run, const calibrate::RankPlace& place) {
  return on_rank_machine(run.backend, place, run.rank_timeout, [&](RankMachine& machine) {
    serve_all(run, machine);
    return kDone;
  });
}

}  // namespace meshwright::app
