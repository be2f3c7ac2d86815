// SPDX-License-Identifier: Apache-2.0
#include "app/commands/plan.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "app/commands/answer_options.h"
#include "app/commands/answers_text.h"
#include "app/commands/inputs.h"
#include "app/commands/output.h"
#include "app/commands/space_options.h"
#include "app/files.h"
#include "app/generated/paths.h"
#include "app/program.h"
#include "planner/questions/answers.h"
#include "planner/search/capacity.h"
#include "planner/search/choice.h"
#include "planner/search/search.h"
#include "reports/plan_json.h"
#include "reports/sha256.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "sim/base/error.h"
#include "sim/step/terms.h"

namespace meshwright::app {
namespace {

struct Options {
  InputOptions inputs;
  OutputOptions output;
  SpaceOptions space;
  AnswerTexts answers;
  int top = 10;
};

void add_fingerprint(reports::Origin& origin, const std::string& name, const std::string& file,
                     const std::string& folder) {
  if (file.empty()) return;
  const bool bare = !std::filesystem::exists(file) && file.find('/') == std::string::npos;
  const std::string path = bare ? configs_directory() + "/" + folder + "/" + file + ".json" : file;
  origin.inputs.push_back({name, file, reports::sha256(read_text_file(path))});
}

reports::Origin origin_of(const Options& options) {
  reports::Origin origin;
  origin.tool_version = kVersion;
  origin.command = this_command();
  add_fingerprint(origin, "model", options.inputs.model, "models");
  add_fingerprint(origin, "cluster", options.inputs.cluster, "clusters");
  add_fingerprint(origin, "job", options.inputs.job, "jobs");
  return origin;
}

// Share of the step that waits for communication which nothing hides.
double exposed_share(const Estimate& estimate) {
  Seconds exposed;
  for (const TermKind kind :
       {TermKind::tensor_parallel_communication, TermKind::context_parallel_communication,
        TermKind::expert_parallel_communication, TermKind::pipeline_communication,
        TermKind::data_parallel_communication}) {
    exposed += estimate.terms[static_cast<std::size_t>(kind)].cost.time;
  }
  return exposed / estimate.step_time;
}

// The fastest `top`, with what a reader compares next; the rest of the Pareto set is in the JSON.
reports::Table fastest_table(const planner::Plan& plan, int top) {
  reports::Table table = reports::ranked_table(plan);
  table.columns.push_back({"memory_used_percent", "of memory", "%", 3});
  table.columns.push_back({"exposed_communication_percent", "exposed comm.", "%", 3});
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    const Estimate& estimate = plan.ranked[i];
    table.rows[i].emplace_back(estimate.peak_memory() / plan.cluster.device.memory * 100.0);
    table.rows[i].emplace_back(exposed_share(estimate) * 100.0);
  }
  if (table.rows.size() > static_cast<std::size_t>(top)) {
    table.rows.resize(static_cast<std::size_t>(top));
  }
  return table;
}

void print_search(const planner::Plan& plan, double elapsed_seconds) {
  const planner::SearchStatistics& s = plan.statistics;
  fmt::print(stderr,
             "{} layouts in {:.3g} s ({:.3g} layouts/s): {} obey every rule, {} fit in memory, {} "
             "are on the Pareto front of time and memory.\n",
             reports::count_text(s.enumerated), elapsed_seconds,
             static_cast<double>(s.enumerated) / elapsed_seconds, reports::count_text(s.legal),
             reports::count_text(s.fitting), plan.pareto.size());
  if (!plan.rejections.empty()) {
    fmt::print(stderr, "rejected:\n{}", reports::table_to_text(reports::rejections_table(plan)));
  }
  for (const std::string& note : plan.notes) fmt::print(stderr, "note: {}\n", note);
}

void print_training(const planner::Plan& plan) {
  const auto needs = planner::capacity(plan.job, plan.cluster, plan.ranked.front().step_time);
  if (!needs) return;
  fmt::print(stderr, "{} tokens take {:.4g} days and {:.4g} GPU-hours{}.\n",
             reports::si_text(plan.job.train_tokens), planner::days(needs->train_time),
             needs->gpu_hours,
             needs->cost ? fmt::format(", {:.4g} at {:.4g} a GPU-hour", *needs->cost,
                                       plan.cluster.price_per_gpu_hour)
                         : "");
}

// With --out the plan goes to the file as JSON, and the table still to standard output.
void write_plan(const Options& options, const planner::Plan& plan, const std::string& json) {
  const bool to_file = options.output.out != "-";
  if (to_file) write_file_atomically(options.output.out, json);
  if (plan.ranked.empty() && options.output.format != Format::json) return;
  if (to_file && options.output.format == Format::json) return;
  OutputOptions stdout_options = options.output;
  stdout_options.out = "-";
  write_output(stdout_options, {fastest_table(plan, options.top)}, json);
}

int print_verdict(const Options& options, const planner::Plan& plan) {
  if (!plan.ranked.empty()) {
    print_training(plan);
    if (options.output.out == "-") {
      fmt::print(stderr, "next: add --out plan.json, then meshwright trial plan.json\n");
    } else {
      fmt::print(stderr, "next: meshwright trial {}\n", options.output.out);
    }
    return kDone;
  }
  fmt::print(stderr, "No layout of {} fits {} x {}.\n", plan.model.name, plan.cluster.num_gpus(),
             plan.cluster.device.name);
  const std::string rule = plan.rejections.empty()
                               ? "memory_capacity"
                               : std::string(rule_text(plan.rejections.front().rule).name);
  fmt::print(stderr, "next: meshwright explain {}\n", rule);
  return kGateFailed;
}

// Near twins fall out of the ranking, so the search keeps more than are shown.
constexpr int kTwinsOfEach = 8;

planner::SearchOptions search_options(const Options& options, const planner::AnswerOptions& answers,
                                      const Device& device) {
  planner::SearchOptions search;
  search.space = space_of(options.space);
  search.top = options.top;
  search.memory_headroom = planner::memory_headroom(answers.limits, device);
  return search;
}

// With several GPU counts: all are compared, and the plan is of the one that is best.
planner::Scaling compare_counts(const Options& options, Inputs& inputs,
                                const planner::SearchOptions& search,
                                const planner::AnswerOptions& asked) {
  const std::vector<int>& counts = options.inputs.gpu_counts;
  planner::Scaling scaling;
  if (counts.empty()) return scaling;
  int chosen = counts.front();
  if (counts.size() > 1) {
    scaling = planner::scaling({inputs.model, inputs.cluster, inputs.job}, search,
                               {counts, asked.objective, asked.limits});
    if (scaling.best) chosen = scaling.points[*scaling.best].gpus;
  }
  inputs.cluster = scaled_to(inputs.cluster, chosen);
  return scaling;
}

void print_left_out(const planner::LeftOut& left_out) {
  if (left_out.near_twins > 0) {
    fmt::print(stderr,
               "{} more of the fastest are left out: same sizes and micro-batch as a faster one, "
               "and no less memory (5 %).\n",
               reports::count_text(left_out.near_twins));
  }
  if (left_out.over_limits > 0) {
    fmt::print(stderr, "{} of the fastest are over a limit: {}.\n",
               reports::count_text(left_out.over_limits), left_out.nearest);
  }
}

int run(const Options& options) {
  if (options.output.out != "-") check_writable(options.output.out);
  Inputs inputs = load_inputs(options.inputs);
  if (options.answers.price > 0.0) inputs.cluster.price_per_gpu_hour = options.answers.price;
  const planner::AnswerOptions asked = answer_options_of(options.answers);
  planner::check_objective(asked.objective, inputs.cluster);
  planner::check_limits(asked.limits, {inputs.model, inputs.cluster, inputs.job});
  planner::SearchOptions search = search_options(options, asked, inputs.cluster.device);
  const planner::Scaling scaling = compare_counts(options, inputs, search, asked);
  const auto begin = std::chrono::steady_clock::now();
  planner::SearchOptions wide = search;
  wide.top = options.top * kTwinsOfEach;
  const planner::Plan full = planner::search(inputs.model, inputs.cluster, inputs.job, wide);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  planner::Plan plan = full;
  const planner::LeftOut left_out =
      planner::choose(plan, asked.objective, asked.limits, options.top);
  std::optional<planner::Answers> answers;
  if (!options.answers.no_answers) {
    answers = planner::answers_of(plan, full, search, asked);
    answers->scaling = scaling;
  }
  const Json json = reports::plan_to_json(plan, origin_of(options), search, answers);
  write_plan(options, plan, json.dump(2) + "\n");
  print_search(full, elapsed.count());
  print_left_out(left_out);
  if (answers) fmt::print(stderr, "{}", answers_text(*answers, plan));
  return print_verdict(options, plan);
}

}  // namespace

void add_plan(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Every layout of a search space, ranked, and why the others fell");
  add_input_options(*command, options->inputs, true, GpuCounts::several);
  command->add_option("--top", options->top, "Fastest layouts to show and keep")
      ->check(CLI::Range(1, 10'000).description(""))
      ->capture_default_str();
  add_answer_options(*command, options->answers);
  add_space_options(*command, options->space);
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace meshwright::app
