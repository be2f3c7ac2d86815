// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "app/commands/commands.h"
#include "app/commands/plan_document.h"
#include "app/commands/plan_size.h"
#include "app/console/exit_code.h"
#include "app/console/progress.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/files/output_file.h"
#include "app/options/answer_options.h"
#include "app/options/capacity_options.h"
#include "app/options/command.h"
#include "app/options/inputs.h"
#include "app/options/learnt_cluster.h"
#include "app/options/output.h"
#include "app/options/space_options.h"
#include "app/runs/launch_search.h"
#include "calibrate/backends/backend.h"
#include "calibrate/launch/launch.h"
#include "interop/write_launch/launch_target.h"
#include "planner/accuracy/learning.h"
#include "planner/capacity/capacity_answer.h"
#include "planner/questions/answers.h"
#include "planner/questions/no_layout.h"
#include "planner/search/choice.h"
#include "planner/search/search.h"
#include "reports/records/capacity.h"
#include "reports/records/plan_file.h"
#include "reports/tables/tables.h"
#include "reports/text/text.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/links.h"
#include "sim/json/records.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct PlanOptions {
  InputOptions inputs;
  OutputOptions output;
  SpaceOptions space;
  AnswerTexts answers;
  MoneyOptions money;  // its price is the answers'
  std::string learn;
  std::string target, launch_out;
  int top = 10;
  int runs_to_make = 0;
  bool full = false;
  SoughtSize sought{};
};

// `elapsed`: from the first input read to the whole answer.
void say_search(const planner::Plan& plan, std::chrono::duration<double> elapsed) {
  const planner::SearchStatistics& s = plan.statistics;
  say("{}", wrapped(fmt::format(
                "{} layouts evaluated, answered in {} s: {} are valid, {} fit in memory, {} are on "
                "the Pareto front of time and memory.\n",
                reports::count_text(s.enumerated), number_text(elapsed.count(), 3),
                reports::count_text(s.legal), reports::count_text(s.fitting), plan.pareto.size())));
}

// Tells whether a trial of its layouts on this machine says something about the cluster: as many
// ranks, on the same kind of device.
bool runs_here(const Cluster& cluster) {
  if (cluster.num_gpus() > calibrate::usable_cores()) return false;
  const std::vector<std::string>& built = calibrate::built_modules();
  return only_device(cluster).kind == DeviceKind::cpu ||
         std::find(built.begin(), built.end(), "cuda") != built.end();
}

planner::SearchOptions search_options(const PlanOptions& options,
                                      const planner::AnswerOptions& answers,
                                      const Cluster& cluster) {
  planner::SearchOptions search;
  search.space = space_of(options.space);
  search.top = options.top;
  search.memory_headroom =
      planner::memory_headroom(answers.limits, only_device(cluster), cluster.framework.memory);
  // Each question and each GPU count is a search of its own.
  const std::size_t searches = answers.what_ifs.size() + options.inputs.gpu_counts.size();
  search.most_work /= static_cast<std::int64_t>(std::max<std::size_t>(1, searches));
  return search;
}

struct Question {
  reports::Origin origin;
  Inputs inputs;  // of the size that is planned for
  PlanSize size{};
  planner::AnswerOptions asked;
  planner::SearchOptions search;
  std::optional<planner::CapacityQuestion> capacity;  // where the job says its tokens
};

// The costs are those of the launcher's software, unless the user names another framework.
InputOptions inputs_of(const PlanOptions& options) {
  InputOptions inputs = options.inputs;
  if (options.target.empty() || !inputs.framework.empty()) return inputs;
  inputs.framework = std::string(require_launch_target(options.target).framework);
  return inputs;
}

// Throws InputError where the launcher runs no such model at all.
void aim_search(Question& q, const PlanOptions& options) {
  const std::string& name = options.target;
  if (name.empty()) return;
  const interop::LaunchTarget& target = require_launch_target(name);
  if (!options.launch_out.empty() && target.write == nullptr) {
    throw InputError("--launch-out", "", fmt::format("nothing is written for {}", target.name));
  }
  const Layout any;
  const std::string why = target.model_refusal({q.inputs, any});
  if (!why.empty()) {
    throw InputError("--target", "",
                     fmt::format("{} cannot run {}: {}", target.name, q.inputs.model.name, why));
  }
  q.search.target = search_target(std::string(target.name), q.inputs);
  if (!target.why.empty()) append_to_list(q.inputs.note, " ", fmt::format("{}.", target.why));
}

Question question_of(const PlanOptions& options, const Call& call) {
  Question q;
  q.origin = call.origin();
  q.inputs = load_inputs(inputs_of(options), &q.origin);
  if (options.answers.price) q.inputs.cluster.price_per_gpu_hour = options.answers.price;
  q.asked = answer_options_of(options.answers);
  planner::check_objective(q.asked.objective, q.inputs.cluster);
  planner::check_limits(q.asked.limits, {q.inputs});
  q.search = search_options(options, q.asked, q.inputs.cluster);
  aim_search(q, options);
  if (!options.learn.empty()) {
    q.inputs.cluster = learnt_cluster(options.learn, q.inputs, q.search, q.origin);
  }
  // A wrong one is refused before the first search.
  for (const std::string& text : q.asked.what_ifs) planner::changes_from_text(text, q.inputs);
  q.size = settle_size(options.sought, options.inputs.gpu_counts, q.inputs, q.search, q.asked);
  check_links(q.inputs.cluster);
  MoneyOptions money = options.money;
  money.price = options.answers.price;
  q.capacity = capacity_question_of(q.inputs, options.inputs, money, q.search, q.origin);
  return q;
}

struct Answer {
  planner::Plan full;  // with the near-duplicates
  planner::Plan plan;  // the layouts that are shown and kept
  planner::LeftOutOfChoice left_out;
  std::optional<planner::Answers> answers;
  std::optional<reports::Capacity> capacity;
  std::vector<std::size_t> runs_to_make;  // indices into full.ranked
};

// Says how long the answers take where that is long.
void say_wait(const Question& q, std::chrono::duration<double> first) {
  std::size_t searches = planner::most_searches(q.asked);
  if (q.capacity) searches += planner::most_searches(*q.capacity);
  const std::string text = long_wait_text(first, searches, "--ranking-only");
  if (!text.empty()) say("{}", wrapped(text + "\n"));
}

Answer answer_to(const Question& q, const PlanOptions& options, const Call& call) {
  std::optional<Progress> progress(std::in_place, "searching layouts");
  const auto begin = std::chrono::steady_clock::now();
  Answer a;
  planner::SearchOptions search = q.search;
  search.tables = planner::shared_tables(q.inputs);
  planner::ChosenPlan chosen =
      planner::chosen_plan(q.inputs, search, q.asked.objective, q.asked.limits);
  a.full = std::move(chosen.pool);
  a.plan = std::move(chosen.plan);
  a.left_out = std::move(chosen.left_out);
  const Layout* winner = a.plan.ranked.empty() ? nullptr : &a.plan.ranked.front().layout;
  for (const std::string& note : notes_of(q.inputs.note, q.inputs, winner)) {
    a.full.notes.push_back(note);
    a.plan.notes.push_back(note);
  }
  a.runs_to_make = planner::runs_to_make(a.full, options.runs_to_make);
  if (options.answers.no_answers) return a;
  progress.reset();
  say_wait(q, std::chrono::steady_clock::now() - begin);
  progress.emplace("sensitivity, crossovers and red flags");
  a.answers = planner::answers_of(a.plan, a.full, search, q.asked, q.size.scaling);
  if (q.capacity) {
    progress->now_at("capacity");
    planner::CapacityQuestion capacity = *q.capacity;
    if (!a.plan.ranked.empty()) capacity.planned = a.plan.ranked.front();
    a.capacity =
        reports::capacity_of(planner::capacity_answer(capacity, true), capacity_command(call));
  }
  return a;
}

// With several counts the plan is of the recommended one, or of the one that is nearest to the
// limits.
bool move_to_recommended(Question& question, const Answer& answer) {
  if (question.size.scaling.points.size() < 2 || !answer.capacity) return false;
  const reports::Capacity& capacity = *answer.capacity;
  const reports::CapacityRow* row = capacity.row(capacity.recommended);
  if (row == nullptr) row = capacity.row(capacity.closest);
  if (row == nullptr || row->gpus == question.inputs.cluster.num_gpus()) return false;
  question.inputs.cluster = scaled_to(question.inputs.cluster, row->gpus);
  return true;
}

bool compared_counts(const Question& question) { return question.size.scaling.points.size() > 1; }

std::string runs_to_make_text(const Answer& answer) {
  std::string text;
  for (const std::size_t place : answer.runs_to_make) {
    const Estimate& run = answer.full.ranked[place];
    text += fmt::format("{}: predicted {}\n", short_name(run.layout),
                        reports::seconds_text(run.step_time));
  }
  return text;
}

reports::PlanFile plan_file_of(const Question& question, const Answer& answer) {
  reports::PlanFile file =
      reports::plan_file_of(answer.plan, question.origin, question.search, answer.answers);
  file.defaults = question.inputs.defaults;
  for (const std::size_t place : answer.runs_to_make) {
    const Estimate& run = answer.full.ranked[place];
    file.runs_to_make.push_back({run.layout, run.step_time});
  }
  file.capacity = answer.capacity;
  if (!question.size.found.empty()) file.notes.insert(file.notes.begin(), question.size.found);
  return file;
}

PlanDocument document_of(const PlanOptions& options, const Question& question,
                         const Answer& answer) {
  return {.inputs = question.inputs,
          .found = question.size.found + (question.size.found.empty() ? "" : "\n"),
          .scaling = question.size.scaling,
          .plan = answer.plan,
          .left_out = answer.left_out,
          .answers = answer.answers,
          .capacity = answer.capacity,
          .runs_to_make = runs_to_make_text(answer),
          .top = options.top};
}

std::vector<reports::Table> tables_of(const PlanOptions& options, const Question& question,
                                      const planner::Plan& plan) {
  std::vector<reports::Table> tables{named("ranking", reports::ranked_table(plan))};
  if (tables.front().rows.size() > static_cast<std::size_t>(options.top)) {
    tables.front().rows.resize(static_cast<std::size_t>(options.top));
  }
  if (compared_counts(question)) {
    tables.push_back(
        named("gpus", reports::scaling_table(question.size.scaling.points, question.inputs.job,
                                             only_device(question.inputs.cluster).kind)));
  }
  return tables;
}

// With --out the plan goes to the file as JSON, and the document still to standard output.
void write_plan(const PlanOptions& options, const Question& question, const Answer& answer,
                const std::string& json) {
  const bool shown = write_answer_file(options.output, json);
  if (options.output.format == Format::table) {
    const PlanDocument document = document_of(options, question, answer);
    options.full ? print_full(document) : print_short(document);
  } else if (shown) {
    write_output(options.output.to_standard_output(), tables_of(options, question, answer.plan),
                 json);
    say("{}", left_out_text(answer.left_out));
  }
}

// The fastest layout in the launcher's words.
void write_launch(const PlanOptions& options, const planner::Plan& plan) {
  if (options.launch_out.empty() || plan.ranked.empty()) return;
  const interop::LaunchTarget& target = require_launch_target(options.target);
  const LaunchFile file = target.write({plan, plan.ranked.front().layout});
  write_file_atomically(options.launch_out, file.text);
  for (const std::string& note : file.notes) say("{}: {}\n", options.launch_out, note);
}

// This call with other values of some options.
Call again(const Call& call, const std::vector<std::string>& without,
           const std::vector<std::string>& with = {}) {
  return call
      .as("plan",
          [&](const std::string& option) {
            return std::find(without.begin(), without.end(), option) == without.end();
          })
      .with(with);
}

// Why nothing is ranked, and the nearest question that has an answer.
void say_why_none(const Question& question, const Answer& answer, const Call& call) {
  const planner::Plan& plan = answer.plan;
  if (answer.left_out.over_limits > 0) {
    say("Layouts fit, but none meets the limits: {}.\n", answer.left_out.nearest);
    say_next(again(call, {"--max-step", "--max-memory", "--max-cost"}));
    return;
  }
  const int gpus = plan.cluster.num_gpus();
  const planner::NoLayout why = planner::why_no_layout(plan, question.search);
  say("{}", wrapped(fmt::format("No layout of {} runs on {} x {}: {}\n", plan.model.name,
                                reports::count_text(gpus), only_device(plan.cluster).name,
                                planner::sentence_of(why, plan))));
  if (!why.global_batch_sizes.empty()) {
    say_next(again(call, {"--global-batch-size"},
                   {"--global-batch-size", std::to_string(why.global_batch_sizes.front())}));
  } else if (!why.gpus.empty()) {
    say_next(again(call, {"--gpus"}, {"--gpus", std::to_string(why.gpus.front())}));
  } else if (why.rule) {
    say_next({{"explain", std::string(rule_text(*why.rule).name)}});
  }
}

// Prints the next command to standard error; it is no part of the result.
int say_what_next(const PlanOptions& options, const Question& question, const Answer& answer,
                  const Call& call) {
  if (answer.plan.ranked.empty()) {
    say_why_none(question, answer, call);
    return kGateFailed;
  }
  if (options.output.out == "-") {
    say_next(again(call, {"--out"}, {"--out", "plan.json"}));
  } else {
    say_next({{runs_here(answer.plan.cluster) ? "trial" : "report", options.output.out}});
  }
  return kDone;
}

int run_plan(const PlanOptions& options, const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  Question question = question_of(options, call);
  Answer answer = answer_to(question, options, call);
  if (move_to_recommended(question, answer)) answer = answer_to(question, options, call);
  const std::string text =
      reports::plan_file_record().write(plan_file_of(question, answer)).dump(2) + "\n";
  say_search(answer.full, std::chrono::steady_clock::now() - begin);
  write_plan(options, question, answer, text);
  write_launch(options, answer.plan);
  return say_what_next(options, question, answer, call);
}

}  // namespace

void add_plan(Commands& commands) {
  auto options = std::make_shared<PlanOptions>();
  Command& command =
      commands.add("plan",
                   "Search parallel layouts, rank those that fit, and explain why the others were "
                   "rejected");
  add_input_options(command, options->inputs, true, GpuCounts::several);
  command.options()
      .add_flag("--find-gpus", options->sought.fewest_gpus,
                "Plan for the fewest GPUs on which a layout fits and meets the limits")
      ->excludes("--gpus");
  command.options()
      .add_flag("--longest-sequence", options->sought.longest_sequence,
                "Plan for the longest sequence with which a layout fits and meets the limits; the "
                "batch keeps its sequences")
      ->excludes("--seq-length")
      ->excludes("--find-gpus");
  command.options()
      .add_option("--top", options->top,
                  "Number of layouts to show. The plan keeps at least 20. Default: 10")
      ->check(CLI::Range(1, 10'000).description(""))
      ->capture_default_str();
  command.options().add_flag(
      "--full", options->full,
      "Print everything instead of 60 lines: all kept layouts and rejections, "
      "confidence, sensitivity, crossover points, placement");
  command.reads("--learn", options->learn,
                "Calibration runs of this machine: trials from meshwright trial, or measured "
                "runs. May be repeated");
  command.options()
      .add_option("--runs-to-make", options->runs_to_make,
                  "List the N layouts whose measured times would be most informative about the "
                  "others")
      ->check(CLI::Range(1, 20).description(""));
  command.options().add_option(
      "--target", options->target,
      "Launcher: search only layouts that it can express, with the costs of its "
      "software unless --framework is given: Megatron-LM, Megatron-Bridge, NeMo, "
      "Megatron-DeepSpeed, torchtitan, DeepSpeed, accelerate, nanotron, llm-foundry");
  command.writes("--launch-out", options->launch_out,
                 "Write the launch file of the fastest layout, for --target");
  command.only_with("--launch-out", "--target");
  add_answer_options(command.options(), options->answers);
  add_money_options(command, options->money);
  add_space_options(command.options(), options->space);
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run_plan(*options, call); });
}

}  // namespace meshwright::app
