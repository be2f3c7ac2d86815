// SPDX-License-Identifier: Apache-2.0
// meshwright review: what I run, what it gives, what would be better.
#include "reports/records/review.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/review_gate.h"
#include "app/commands/serving/service_review.h"
#include "app/console/exit_code.h"
#include "app/console/progress.h"
#include "app/console/terminal.h"
#include "app/files/config_words.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/runs/changed_launch.h"
#include "app/runs/launch_search.h"
#include "app/runs/launched_run.h"
#include "app/runs/log_check.h"
#include "interop/write_launch/launch_changes.h"
#include "planner/search/objective.h"
#include "reports/tables/review_text.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

struct ReviewOptions {
  LaunchedRunOptions run;
  LaunchedServiceOptions service;
  LimitOptions limits;
  OutputOptions output;
  std::string launch_out, measurements_out;
  std::vector<std::string> gates;
  int top = 3;
  bool json = false;
};

planner::ReviewOptions review_options(const ReviewOptions& options, const LaunchedRun& run) {
  planner::ReviewOptions review;
  review.most = static_cast<std::size_t>(options.top);
  review.search.memory_headroom = planner::default_headroom(run.scenario.cluster.framework.memory);
  review.search.target = search_target(run.launch, run.scenario);
  // Models of transformers choose their attention themselves.
  review.attention_is_assumed =
      interop::is_fine_tuning(run.launch.target) && !run.launch.says_job("attention_kernel");
  return review;
}

reports::FilePlace place_of(const interop::Place& place) { return {place.file, place.line}; }

std::vector<reports::LaunchFact> facts_of(const std::vector<interop::Fact>& facts) {
  std::vector<reports::LaunchFact> said;
  for (const interop::Fact& fact : facts) {
    said.push_back({fact.field, fact.value, fact.said, place_of(fact.place)});
  }
  return said;
}

reports::LaunchFacts facts_of(const interop::LaunchRecord& launch) {
  reports::LaunchFacts facts{.target = launch.target,
                             .framework = launch.framework,
                             .read = facts_of(launch.read),
                             .assumed = facts_of(launch.assumed),
                             .harmless = launch.harmless};
  for (const interop::NotUnderstood& item : launch.not_understood) {
    const auto effect = item.off ? interop::OptionEffect::none : item.effect;
    facts.not_understood.push_back(
        {item.said, item.why, place_of(item.place), std::string(name_of(effect)), item.off});
  }
  for (const interop::EnvironmentNote& note : launch.environment) {
    facts.environment.push_back(
        {note.name, note.value, note.effect, note.slows, place_of(note.place)});
  }
  return facts;
}

std::optional<reports::LogFacts> facts_of_log(const LaunchedRun& run) {
  if (!run.log || !run.log_refused.empty()) return std::nullopt;
  reports::LogFacts facts{run.measured};
  facts.out_of_memory_line = run.log->out_of_memory_line;
  if (!facts.peak_memory) {
    facts.other_memory = run.memory_is_reserved ? run.log->peak_allocated : run.log->peak_reserved;
  }
  if (run.steps) {
    facts.software = run.log->target;
    facts.steps = run.steps->used;
    facts.warm_up_steps = run.steps->warm_up;
    facts.steps_of_other_batches = run.steps->other_batch;
    facts.restarts = run.steps->restarts;
  }
  return facts;
}

std::vector<reports::SettingChange> facts_of(const std::vector<interop::LaunchChange>& changes) {
  std::vector<reports::SettingChange> facts;
  for (const interop::LaunchChange& change : changes) {
    const auto value = [](bool is, const std::string& text) {
      return is ? std::optional(text) : std::nullopt;
    };
    facts.push_back({change.name, value(change.before, change.value_before),
                     value(change.after, change.value_after)});
  }
  return facts;
}

// The launch of each better layout.
std::vector<ChangedLaunch> changed_launches(const LaunchedRun& run, const planner::Review& review) {
  std::vector<ChangedLaunch> launches;
  for (const planner::BetterLayout& better : review.better) {
    launches.push_back(changed_launch(run, better.estimate.layout));
  }
  return launches;
}

planner::Review review_of(const ReviewOptions& options, const LaunchedRun& run) {
  return planner::review(run.scenario, run.layout, run.measured, review_options(options, run));
}

// A step that the devices cannot have made is another run's.
bool refuse_impossible_log(LaunchedRun& run, const planner::Review& review) {
  if (!review.estimate || !run.measured.step_time) return false;
  run.log_refused = why_step_is_impossible(*review.estimate, *run.measured.step_time);
  if (run.log_refused.empty()) return false;
  run.log_refused += what_log_says(*run.log);
  run.measured = {};
  run.steps.reset();
  return true;
}

planner::Review possible_review(const ReviewOptions& options, LaunchedRun& run) {
  const Progress progress("searching better layouts");
  planner::Review review = review_of(options, run);
  return refuse_impossible_log(run, review) ? review_of(options, run) : review;
}

reports::ReviewedRun reviewed_run(const LaunchedRun& run, planner::Review review,
                                  const std::vector<ChangedLaunch>& launches,
                                  reports::Origin origin) {
  reports::ReviewedRun reviewed{run.scenario, std::move(review)};
  reviewed.origin = std::move(origin);
  reviewed.launch = facts_of(run.launch);
  reviewed.layout = run.layout;
  reviewed.notes = run.notes;
  reviewed.log = facts_of_log(run);
  reviewed.log_refused = run.log_refused;
  reviewed.memory_is_reserved = run.memory_is_reserved;
  for (const ChangedLaunch& launch : launches) {
    reviewed.changes.push_back(facts_of(launch.changes));
  }
  if (!launches.empty() && launches.front().refusal.empty()) {
    reviewed.changed_launch = launches.front().files.text;
  }
  return reviewed;
}

void write_files(const ReviewOptions& options, const LaunchedRun& run,
                 const std::vector<ChangedLaunch>& launches) {
  if (!options.launch_out.empty()) {
    const std::string refusal =
        launches.empty() ? "no faster launch was found" : launches.front().refusal;
    if (!refusal.empty()) {
      say("warning: {} is not written: {}\n", options.launch_out, refusal);
    } else {
      const auto written = write_launch(run, launches.front().files, options.launch_out);
      if (written.size() > 1) say("written: {}\n", fmt::join(written, ", "));
      constexpr const char* kVariable = "NVTE_CPU_OFFLOAD_V1";  // Megatron-LM asserts it
      const std::string& text = launches.front().files.text;
      const bool offloads = text.find("--offload-modules") != std::string::npos;
      if (offloads && text.find(kVariable) == std::string::npos) {
        say("{}: set {}=1 in its environment; offload of modules needs it from Transformer Engine "
            "2.10 on.\n",
            options.launch_out, kVariable);
      }
    }
  }
  if (!options.measurements_out.empty()) {
    const std::string& from = options.run.from.empty() ? options.run.log : options.run.from;
    write_file_atomically(options.measurements_out,
                          measurements_of(run, options.run.cluster, from).dump(1) + "\n");
    say_next({{"backtest", options.measurements_out}});
  }
}

// Options that the review of a training run and of a service share.
ServiceReviewOptions service_review(const ReviewOptions& options) {
  ServiceReviewOptions review{options.service,    options.limits, options.run.log,
                              options.launch_out, options.output, options.top};
  review.service.from = options.run.from;
  review.service.model = options.run.model;
  review.service.cluster = options.run.cluster;
  review.service.variables = options.run.variables;
  review.service.arguments = options.run.arguments;
  if (options.json) review.output.format = Format::json;
  return review;
}

// Devices of "8 x H20" are those of the cluster, which a service need not fill.
bool says_gpus(const ReviewOptions& o) {
  return o.run.gpus > 0 && o.run.gpus != counted_name(o.run.cluster).devices;
}

// Options that the review of a service, or the form of a training run's, would ignore.
void refuse_run_options(const ReviewOptions& o) {
  const char* given = !o.run.framework.empty()      ? "--framework"
                      : !o.run.log_pattern.empty()  ? "--log-pattern"
                      : says_gpus(o)                ? "--gpus"
                      : o.run.vocab_size > 0        ? "--vocab-size"
                      : o.run.seq_length > 0        ? "--seq-length"
                      : !o.measurements_out.empty() ? "--measurements-out"
                      : !o.gates.empty()            ? "--fail-if"
                                                    : nullptr;
  if (given == nullptr) return;
  throw InputError(given, "", "is an option of a training run, and the launch starts an engine");
}
void refuse_tables(const OutputOptions& output) {
  if (output.format == Format::table || output.format == Format::json) return;
  throw InputError("--format", "", "must be table or json: the review of a training run is a text");
}

// Tells whether one fails.
bool say_failures(const std::vector<ReviewGate>& gates, const planner::Review& review,
                  int devices) {
  bool failed = false;
  for (const ReviewGate& gate : gates) {
    const std::string why = failure(gate, review, devices);
    if (why.empty()) continue;
    failed = true;
    say("gate {} fails: {}\n", gate.text, why);
  }
  return failed;
}

int run_review(const ReviewOptions& options, const Call& call) {
  if (starts_service(options.run.from)) {
    refuse_run_options(options);
    return review_service(service_review(options), call);
  }
  refuse_tables(options.output);
  std::vector<ReviewGate> gates;
  for (const std::string& text : options.gates) gates.push_back(review_gate_from_text(text));
  refuse_service_options(options.service, options.limits, options.run.from);
  reports::Origin origin = call.origin();
  LaunchedRun run = load_launched_run(options.run, origin);
  planner::Review review = possible_review(options, run);
  const std::vector<ChangedLaunch> launches = changed_launches(run, review);
  const reports::ReviewedRun reviewed =
      reviewed_run(run, std::move(review), launches, std::move(origin));
  const bool json = options.json || options.output.format == Format::json;
  write_file_atomically(options.output.out,
                        json ? reports::review_record().write(reviewed).dump(2) + "\n"
                             : reports::review_text(reviewed, terminal_width()));
  write_files(options, run, launches);
  const bool gate_failed = say_failures(gates, reviewed, reviewed.cluster.num_gpus());
  return reviewed.violation || gate_failed ? kGateFailed : kDone;
}

void add_run_options(Command& command, LaunchedRunOptions& run) {
  command.reads("FILE,--from", run.from,
                "Launch script, command line or configuration. Default: the arguments in the "
                "log");
  command.reads("--log", run.log,
                "Training log of the run; of a service its engine's log or a benchmark's result");
  command.options().add_option(
      "--log-pattern", run.log_pattern,
      "Form of a step's line in a log of other software, for example \"step {step} "
      ".* {seconds}s\"");
  command
      .reads("--cluster", run.cluster,
             "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters")
      ->required();
  command.reads("--model", run.model, "Model, if the launch does not contain it", "models");
  add_framework_option(command, run.framework);
  command.options()
      .add_option("--gpus", run.gpus, "Number of devices. Default: that of the launch or the log")
      ->check(CLI::Range(1, 10'000'000).description(""));
  command.options()
      .add_option("--vocab-size", run.vocab_size,
                  "Vocabulary size, if only the tokenizer's files contain it")
      ->check(CLI::Range(1, 100'000'000).description(""));
  command.options()
      .add_option("--seq-length", run.seq_length, "Sequence length, if the launch does not set it")
      ->check(CLI::Range(1, 100'000'000).description(""));
  command.options().add_option(
      "--set", run.variables,
      "Variable of the script that is set elsewhere, or a key of the configuration: "
      "NAME=VALUE. May be repeated");
  command.options().add_option("--args", run.arguments,
                               "Arguments of the script, for example \"A3B 1 8\"");
}

}  // namespace

void add_review(Commands& commands) {
  auto options = std::make_shared<ReviewOptions>();
  Command& command = commands.add(
      "review",
      "Review a running job or service: memory fit, predicted and measured times, faster "
      "layouts");
  add_run_options(command, options->run);
  add_service_options(command, options->service, options->limits);
  command.options()
      .add_option("--top", options->top,
                  "Number of faster layouts to show; 0: do not search. Default: 3")
      ->check(CLI::Range(0, 20).description(""))
      ->capture_default_str();
  command.options().add_option(
      "--fail-if", options->gates,
      "Exit with 1 if a condition holds for the launched layout, as if it cannot run or fit: "
      "step_time>5% (more than the fastest layout found), step_time>30, peak_memory>70 (GiB), "
      "mfu<0.4, tokens_per_second<100000, winner (a faster layout was found) or uncertain "
      "(whether it fits). May be repeated");
  command.options().add_flag("--json", options->json, "Same as --format json");
  command.writes("--launch-out", options->launch_out,
                 "Write the launch of the fastest layout to this file; its other lines stay");
  command.writes("--measurements-out", options->measurements_out,
                 "Write the measured run as a data set for meshwright backtest");
  add_output_options(command, options->output);
  command.never_with("--json", {"--format"});
  command.runs([options](const Call& call) { return run_review(*options, call); });
}

}  // namespace meshwright::app
