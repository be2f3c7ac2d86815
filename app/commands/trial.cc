// SPDX-License-Identifier: Apache-2.0
#include "calibrate/trial/trial.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/serving/trial_serving.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/profile_files.h"
#include "app/options/command.h"
#include "app/options/rank_options.h"
#include "app/runs/trial_ranks.h"
#include "app/runs/trial_run.h"
#include "calibrate/launch/rank_place.h"
#include "reports/records/plan_file.h"
#include "sim/base/error.h"
#include "sim/base/trial_mode.h"
#include "sim/layout/short_name.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

// Beyond the steps themselves: starting ranks, making weights, a step that is under way.
constexpr double kTrialSlackSeconds = 300.0;

struct TrialOptions {
  std::string plan;
  std::string out = "trials.json";
  RankOptions ranks;
  std::string mode = "training";
  std::string precision;  // empty: what the backend's default is
  std::string trace;
  std::string profile;
  int top = 0;  // 0: what the plan proposes
  calibrate::TrialOptions trial;
};

std::string unsupported(const reports::PlanFile& plan, const Layout& layout,
                        const calibrate::TrialOptions& trial) {
  if (trial.mode == TrialMode::training) {
    return calibrate::trial_unsupported(plan.model, plan.job, layout);
  }
  const int decoded = trial.mode == TrialMode::decode ? trial.decode_tokens : 0;
  return calibrate::inference_unsupported(plan.model, plan.job, layout, decoded);
}

// Inference runs the tensor ranks of a layout and the sequences of a micro-batch; layouts that are
// alike in both are one.
bool is_repeated(const std::vector<Layout>& chosen, const Layout& layout, TrialMode mode) {
  return mode != TrialMode::training &&
         std::any_of(chosen.begin(), chosen.end(), [&](const Layout& other) {
           return other.tensor_parallel_size == layout.tensor_parallel_size &&
                  other.micro_batch_size == layout.micro_batch_size;
         });
}

constexpr std::size_t kDefaultTop = 3;

// The plan's layouts in the order in which they are tried. Without --top the runs that the plan
// proposes to settle its ranking come first, and no others are run.
struct ToRun {
  std::vector<Layout> layouts;
  std::size_t count = 0;
};

ToRun layouts_to_run(const reports::PlanFile& plan, int top) {
  if (top > 0) return {plan.layouts(), static_cast<std::size_t>(top)};
  const std::vector<std::size_t> proposed = plan.proposed_runs();
  if (proposed.empty()) return {plan.layouts(), kDefaultTop};
  ToRun run{{}, proposed.size()};
  for (const std::size_t place : proposed) run.layouts.push_back(plan.ranked[place].layout);
  for (const reports::PlannedLayout& ranked : plan.ranked) {
    if (std::find(run.layouts.begin(), run.layouts.end(), ranked.layout) == run.layouts.end()) {
      run.layouts.push_back(ranked.layout);
    }
  }
  return run;
}

// The best layouts that the trial knows how to run; the others are passed over aloud.
std::vector<Layout> runnable(const reports::PlanFile& plan, const ToRun& run,
                             const calibrate::TrialOptions& trial) {
  std::vector<Layout> layouts;
  for (const Layout& layout : run.layouts) {
    if (layouts.size() == run.count) break;
    if (is_repeated(layouts, layout, trial.mode)) continue;
    const std::string reason = unsupported(plan, layout, trial);
    if (reason.empty()) {
      layouts.push_back(layout);
    } else if (!calibrate::find_rank_place(calibrate::process_environment())) {
      say("trial: skipping {}: {}\n", short_name(layout), reason);
    }
  }
  return layouts;
}

TrialRun describe_trial(TrialOptions& options, const Json& json, const reports::Origin& origin) {
  const reports::PlanFile plan = reports::plan_file_record().read(json, options.plan);
  if (plan.ranked.empty()) {
    throw InputError(options.plan, "/ranked", "holds no layout",
                     "has no layout that fits; its rejections give the reasons");
  }
  const std::vector<Layout> layouts =
      runnable(plan, layouts_to_run(plan, options.top), options.trial);
  if (layouts.empty()) {
    throw InputError(options.plan, "/ranked",
                     "holds no layout that the trial can run: " +
                         unsupported(plan, plan.ranked.front().layout, options.trial));
  }
  // The trial runs on the kind of device that was calibrated.
  choose_backend(options.ranks, only_device(plan.cluster).kind == DeviceKind::gpu);
  TrialRun run;
  run.plan = options.plan;
  run.origin = origin;
  run.out = options.out;
  run.backend = options.ranks.backend;
  run.rank_timeout = seconds(parse_duration("--rank-timeout", options.ranks.timeout));
  run.model = plan.model;
  run.job = plan.job;
  run.layouts = layouts;
  run.options = options.trial;
  run.trace = options.trace;
  if (!options.profile.empty()) {
    run.profile = load_profile_of(only_device(plan.cluster).name, options.profile);
  }
  run.options.keep_intervals = !options.trace.empty();
  return run;
}

int start_trial(const TrialOptions& options, const TrialRun& run, const Call& call) {
  int largest = 1;
  for (const Layout& layout : run.layouts) largest = std::max(largest, world_size(layout));
  const double each = 2.0 * options.trial.time_limit_seconds + kTrialSlackSeconds;
  return start_trial_ranks(
      options.ranks, {largest, each * static_cast<double>(run.layouts.size()), run.out, "layout"},
      call);
}

TrialMode mode_of(const std::string& text) {
  for (const auto& entry : kTrialModeNames) {
    if (entry.name == text) return entry.value;
  }
  throw InputError("--mode", "", fmt::format("unknown mode \"{}\"", text),
                   "use training, prefill or decode");
}

std::optional<Precision> precision_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  for (const Precision known : {Precision::fp32, Precision::bf16, Precision::fp16}) {
    if (text == name_of(known)) return known;
  }
  throw InputError("--precision", "", fmt::format("the trial does not compute in \"{}\"", text),
                   "fp32, bf16 or, on GPUs, fp16");
}

// A service is its load; options of steps would be ignored.
void refuse_options_of_steps(const TrialOptions& options) {
  const calibrate::TrialOptions defaults;
  const std::pair<const char*, bool> given[] = {
      {"--mode", options.trial.mode != defaults.mode},
      {"--steps", options.trial.steps != defaults.steps},
      {"--decode-tokens", options.trial.decode_tokens != defaults.decode_tokens},
      {"--trace", !options.trace.empty()}};
  for (const auto& [name, is_given] : given) {
    if (!is_given) continue;
    throw InputError(name, "", "does not apply to a plan of a service",
                     "the load of the plan is run, once for each deployment");
  }
}

int run_trial(TrialOptions options, const Call& call) {
  const auto place = calibrate::place_of_started_rank(calibrate::process_environment());
  options.trial.mode = mode_of(options.mode);
  options.trial.precision = precision_of(options.precision);
  reports::Origin origin = call.origin();
  const Json plan = read_input("plan", options.plan, origin);
  if (is_serving_plan(plan)) {
    refuse_options_of_steps(options);
    return run_serving_trial_command(
        plan,
        {options.plan, options.out, options.profile, options.top, options.trial.time_limit_seconds,
         options.trial.precision, options.trial.seed, options.ranks},
        origin, call);
  }
  const TrialRun described = describe_trial(options, plan, origin);
  if (place) return run_trial_rank(described, *place);
  check_backend(options.ranks.backend);
  return start_trial(options, described, call);
}

}  // namespace

void add_trial(Commands& commands) {
  auto options = std::make_shared<TrialOptions>();
  Command& command = commands.add(
      "trial", "Run the best layouts of a plan on this machine's ranks and measure them");
  command.reads("plan", options->plan, "Plan, a file from meshwright plan or serve --format json")
      ->required();
  command.writes("--out", options->out, "Trials to write. Default: trials.json");
  const auto positive = CLI::Range(1, 1'000'000).description("");
  command.options()
      .add_option("--top", options->top,
                  "Number of layouts to run, best first. Default: the runs that the plan "
                  "proposes, or 3")
      ->check(positive);
  command.options()
      .add_option("--steps", options->trial.steps, "Timed steps per layout. Default: 5")
      ->check(positive);
  command.options()
      .add_option("--time-limit", options->trial.time_limit_seconds,
                  "Time limit per layout in seconds. Default: 60")
      ->check(CLI::Range(1.0, 86400.0).description(""));
  command.options().add_option(
      "--mode", options->mode,
      "Run training steps, or inference on the tensor-parallel ranks: prefill (a "
      "prompt) or decode (with a key-value cache). Default: training");
  command.options()
      .add_option("--decode-tokens", options->trial.decode_tokens,
                  "Tokens to decode after the prompt (--mode decode); part of seq_length. "
                  "Default: 32")
      ->check(positive);
  command.options().add_option(
      "--precision", options->precision,
      "Number format of GEMMs, activations and messages: fp32, bf16 or, on GPUs, "
      "fp16. Default: the job's on GPUs, fp32 on CPU cores");
  command.options().add_flag(
      "--moe-router-force-load-balancing,!--no-moe-router-force-load-balancing",
      options->trial.moe_router_force_load_balancing,
      "Assign tokens to the experts round-robin, as predictions assume (default), or "
      "with no- by the router");
  command.reads("--profile", options->profile,
                "Profile used for the plan. trial re-measures part of it around each layout "
                "and reports a change in host speed");
  command.writes("--trace", options->trace,
                 "Write a trace of each rank's last step for ui.perfetto.dev");
  add_rank_options(command.options(), options->ranks,
                   "one per core, or one per GPU with cuda, at most what the layouts need");
  command.runs([options](const Call& call) { return run_trial(*options, call); });
}

}  // namespace meshwright::app
