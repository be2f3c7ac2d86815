// SPDX-License-Identifier: Apache-2.0
// meshwright review: what I run, what it gives, what would be better.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/commands/commands.h"
#include "app/commands/review_document.h"
#include "app/console/exit_code.h"
#include "app/console/progress.h"
#include "app/console/terminal.h"
#include "app/files/output_file.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/output.h"
#include "app/runs/launch_search.h"
#include "app/runs/launched_run.h"
#include "app/runs/log_check.h"
#include "interop/write_launch/launch_target.h"
#include "planner/search/objective.h"

namespace meshwright::app {
namespace {

struct ReviewOptions {
  LaunchedRunOptions run;
  OutputOptions output;
  std::string launch_out, measurements_out;
  int top = 3;
  bool json = false;
};

interop::Training training_of(const Scenario& s, const Layout& layout) { return {s, layout}; }

planner::ReviewOptions review_options(const ReviewOptions& options, const LaunchedRun& run) {
  planner::ReviewOptions review;
  review.most = static_cast<std::size_t>(options.top);
  review.search.memory_headroom = planner::default_headroom(run.scenario.cluster.framework.memory);
  review.search.target = search_target(run.launch.target, run.scenario);
  // Models of transformers choose their attention themselves.
  const bool of_transformers =
      run.launch.target == "DeepSpeed" || run.launch.target == "accelerate";
  review.attention_is_assumed = of_transformers && !run.launch.says_job("attention_kernel");
  return review;
}

// Relative to what the user typed, so that his other options stay.
void add_changes(ReviewedRun& reviewed) {
  const LaunchedRun& run = reviewed.run;
  const std::string& target = run.launch.target;
  const auto before = interop::settings_for(target, training_of(run.scenario, run.layout));
  for (const planner::BetterLayout& better : reviewed.review.better) {
    reviewed.changes.push_back(interop::launch_changes(
        before, interop::settings_for(target, training_of(run.scenario, better.estimate.layout))));
  }
  if (reviewed.changes.empty() || run.launch.command.empty()) return;
  const bool in_command = std::any_of(
      reviewed.changes.front().begin(), reviewed.changes.front().end(),
      [](const interop::LaunchChange& change) { return change.name.starts_with("--"); });
  // ms-swift's options are Megatron-LM's by other names.
  if (!in_command || target == "ms-swift") return;
  reviewed.changed_launch =
      interop::command_text(interop::changed_command(run.launch.command, reviewed.changes.front()));
}

void review_run(const ReviewOptions& options, ReviewedRun& reviewed) {
  reviewed.review = planner::review(reviewed.run.scenario, reviewed.run.layout,
                                    reviewed.run.measured, review_options(options, reviewed.run));
}

// A step that the devices cannot have made is another run's.
bool refuse_impossible_log(ReviewedRun& reviewed) {
  LaunchedRun& run = reviewed.run;
  if (!reviewed.review.estimate || !run.measured.step_time) return false;
  run.log_refused = why_step_is_impossible(*reviewed.review.estimate, *run.measured.step_time);
  if (run.log_refused.empty()) return false;
  run.measured = {};
  run.steps.reset();
  return true;
}

void write_files(const ReviewOptions& options, const ReviewedRun& reviewed) {
  if (!options.launch_out.empty()) {
    if (reviewed.changed_launch.empty()) {
      say("{} is not written: {}\n", options.launch_out,
          reviewed.changes.empty() ? "no better launch is known"
                                   : "what changes stands in a file that the launch names");
    } else {
      write_file_atomically(options.launch_out, reviewed.changed_launch);
    }
  }
  if (!options.measurements_out.empty()) {
    const std::string& from = options.run.from.empty() ? options.run.log : options.run.from;
    write_file_atomically(options.measurements_out,
                          measurements_of(reviewed.run, options.run.cluster, from).dump(1) + "\n");
    say_next({{"backtest", options.measurements_out}});
  }
}

int run_review(const ReviewOptions& options, const Call& call) {
  reports::Origin origin = call.origin();
  ReviewedRun reviewed;
  reviewed.run = load_launched_run(options.run, origin);
  {
    const Progress progress("searching better layouts");
    review_run(options, reviewed);
    if (refuse_impossible_log(reviewed)) review_run(options, reviewed);
  }
  add_changes(reviewed);
  if (options.json || options.output.format == Format::json) {
    write_file_atomically(options.output.out, review_json(reviewed, origin).dump(2) + "\n");
  } else {
    write_file_atomically(options.output.out, review_text(reviewed));
  }
  write_files(options, reviewed);
  return reviewed.review.violation ? kGateFailed : kDone;
}

void add_run_options(Command& command, LaunchedRunOptions& run) {
  command.reads(
      "--from", run.from,
      "What is launched: a script, command line or configuration; default: what the log says");
  command.reads("--log", run.log, "What it printed");
  command
      .reads("--cluster", run.cluster,
             "Cluster: a file, a measured profile, or a name from configs/clusters", "clusters")
      ->required();
  command.reads("--model", run.model, "Model in place of the launched one", "models");
  add_framework_option(command, run.framework);
  command.options()
      .add_option("--gpus", run.gpus, "Devices that are used; default: as launch or log say")
      ->check(CLI::Range(1, 10'000'000).description(""));
  command.options()
      .add_option("--vocab-size", run.vocab_size, "Where it is in the tokenizer's files only")
      ->check(CLI::Range(1, 100'000'000).description(""));
  command.options()
      .add_option("--seq-length", run.seq_length, "Where the launch does not say it")
      ->check(CLI::Range(1, 100'000'000).description(""));
  command.options().add_option("--set", run.variables,
                               "Variable of the script that comes from elsewhere: NAME=VALUE");
  command.options().add_option("--args", run.arguments,
                               "Arguments that the script is started with: \"A3B 1 8\"");
}

}  // namespace

void add_review(Commands& commands) {
  auto options = std::make_shared<ReviewOptions>();
  Command& command = commands.add(
      "review", "What you run: does it fit, predicted against measured, and what is better");
  add_run_options(command, options->run);
  command.options()
      .add_option("--top", options->top, "Better layouts to show")
      ->check(CLI::Range(1, 20).description(""))
      ->capture_default_str();
  command.options().add_flag("--json", options->json, "The same as --format json");
  command.writes("--launch-out", options->launch_out, "File for the changed launch line");
  command.writes("--measurements-out", options->measurements_out,
                 "File for what was measured, as meshwright backtest reads it");
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_review(*options, call); });
}

}  // namespace meshwright::app
