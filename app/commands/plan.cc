// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <memory>

#include "app/command.h"
#include "app/commands/answer_options.h"
#include "app/commands/answers_text.h"
#include "app/commands/commands.h"
#include "app/commands/inputs.h"
#include "app/commands/output.h"
#include "app/commands/question.h"
#include "app/commands/space_options.h"
#include "app/files.h"
#include "app/output_file.h"
#include "app/program.h"
#include "app/terminal.h"
#include "calibrate/backends/backend.h"
#include "calibrate/launch/launch.h"
#include "planner/questions/answers.h"
#include "planner/search/capacity.h"
#include "planner/search/choice.h"
#include "planner/search/search.h"
#include "reports/plan_json.h"
#include "reports/tables.h"
#include "reports/text.h"
#include "sim/base/error.h"
#include "sim/hardware/links.h"
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
  say("{} layouts in {:.3g} s ({:.3g} layouts/s): {} obey every rule, {} fit in memory, {} "
      "are on the Pareto front of time and memory.\n",
      reports::count_text(s.enumerated), elapsed_seconds,
      static_cast<double>(s.enumerated) / elapsed_seconds, reports::count_text(s.legal),
      reports::count_text(s.fitting), plan.pareto.size());
  if (!plan.rejections.empty()) {
    say("rejected:\n{}", reports::table_to_text(reports::rejections_table(plan)));
  }
  for (const std::string& note : plan.notes) say("note: {}\n", note);
}

void print_training(const planner::Plan& plan) {
  const auto needs = planner::capacity(plan.job, plan.cluster, plan.ranked.front().step_time);
  if (!needs) return;
  say("{} tokens take {:.4g} days and {:.4g} GPU-hours{}.\n",
      reports::si_text(*plan.job.train_tokens), planner::days(needs->train_time), needs->gpu_hours,
      needs->cost ? fmt::format(", {:.4g} at {:.4g} a GPU-hour", *needs->cost,
                                *plan.cluster.price_per_gpu_hour)
                  : "");
}

// With --out the plan goes to the file as JSON, and the table still to standard output.
void write_plan(const Options& options, const planner::Plan& plan, const std::string& json,
                const std::string& question) {
  const bool to_file = options.output.out != "-";
  if (to_file) write_file_atomically(options.output.out, json);
  if (plan.ranked.empty() && options.output.format != Format::json) {
    say("{}\n", question);
    return;
  }
  if (to_file && options.output.format == Format::json) return;
  OutputOptions stdout_options = options.output;
  stdout_options.out = "-";
  if (options.output.format == Format::table) print("{}\n", question);
  write_output(stdout_options, {fastest_table(plan, options.top)}, json);
}

// Whether a trial of its layouts on this machine says something about the cluster: as many ranks,
// on the same kind of device.
bool runs_here(const Cluster& cluster) {
  if (cluster.num_gpus() > calibrate::usable_cores()) return false;
  const std::vector<std::string> built = calibrate::built_modules();
  return cluster.device.kind == DeviceKind::cpu ||
         std::find(built.begin(), built.end(), "cuda") != built.end();
}

int print_verdict(const Options& options, const planner::Plan& plan) {
  if (!plan.ranked.empty()) {
    print_training(plan);
    const std::string next = runs_here(plan.cluster) ? "trial" : "report";
    if (options.output.out == "-") {
      say("next: add --out plan.json, then meshwright {} plan.json\n", next);
    } else {
      say("next: meshwright {} {}\n", next, options.output.out);
    }
    return kDone;
  }
  say("No layout of {} fits {} x {}.\n", plan.model.name, plan.cluster.num_gpus(),
      plan.cluster.device.name);
  if (plan.statistics.enumerated == 0) {
    say("No layout was tried: no sizes of the search space multiply to {} GPUs.\n"
        "next: give other sizes, or leave --tp, --pp, --cp and --ep out\n",
        plan.cluster.num_gpus());
  } else if (!plan.rejections.empty()) {
    say("next: meshwright explain {}\n", rule_text(plan.rejections.front().rule).name);
  }
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
  // Each question and each GPU count is a search of its own.
  const std::size_t searches = answers.what_ifs.size() + options.inputs.gpu_counts.size();
  search.most_work /= static_cast<std::int64_t>(std::max<std::size_t>(1, searches));
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
    say("{} more of the fastest are left out: same sizes and micro-batch as a faster one, "
        "and no less memory (5 %).\n",
        reports::count_text(left_out.near_twins));
  }
  if (left_out.over_limits > 0) {
    say("{} of the fastest are over a limit: {}.\n", reports::count_text(left_out.over_limits),
        left_out.nearest);
  }
}

struct Question {
  reports::Origin origin;
  Inputs inputs;  // scaled to the GPU count that is planned for
  planner::AnswerOptions asked;
  planner::SearchOptions search;
  planner::Scaling scaling;
};

Question question_of(const Options& options, const Call& call) {
  Question q;
  q.origin = call.origin();
  q.inputs = load_inputs(options.inputs, &q.origin);
  if (options.answers.price) q.inputs.cluster.price_per_gpu_hour = options.answers.price;
  q.asked = answer_options_of(options.answers);
  planner::check_objective(q.asked.objective, q.inputs.cluster);
  planner::check_limits(q.asked.limits, {q.inputs.model, q.inputs.cluster, q.inputs.job});
  q.search = search_options(options, q.asked, q.inputs.cluster.device);
  q.scaling = compare_counts(options, q.inputs, q.search, q.asked);
  check_links(q.inputs.cluster);
  return q;
}

struct Answer {
  planner::Plan full;  // with the near twins
  planner::Plan plan;  // what is shown and kept
  planner::LeftOut left_out;
  std::optional<planner::Answers> answers;
  double search_seconds = 0.0;
};

Answer answer_to(const Question& q, const Options& options) {
  Answer a;
  planner::SearchOptions wide = q.search;
  wide.top = options.top * kTwinsOfEach;
  const auto begin = std::chrono::steady_clock::now();
  a.full = planner::search(q.inputs.model, q.inputs.cluster, q.inputs.job, wide);
  if (!q.inputs.note.empty()) a.full.notes.push_back(q.inputs.note);
  a.search_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  a.plan = a.full;
  a.left_out = planner::choose(a.plan, q.asked.objective, q.asked.limits, options.top);
  if (options.answers.no_answers) return a;
  a.answers = planner::answers_of(a.plan, a.full, q.search, q.asked);
  a.answers->scaling = q.scaling;
  return a;
}

int run(const Options& options, const Call& call) {
  const Question question = question_of(options, call);
  const Answer answer = answer_to(question, options);
  Json json = reports::plan_to_json(answer.plan, question.origin, question.search, answer.answers);
  json["defaults"] = question.inputs.defaults;
  write_plan(options, answer.plan, json.dump(2) + "\n", question_text(question.inputs));
  print_search(answer.full, answer.search_seconds);
  print_left_out(answer.left_out);
  if (answer.answers) say("{}", answers_text(*answer.answers, answer.plan));
  return print_verdict(options, answer.plan);
}

}  // namespace

void add_plan(Commands& commands) {
  auto options = std::make_shared<Options>();
  Command& command =
      commands.add("plan", "Every layout of a search space, ranked, and why the others fell");
  add_input_options(command, options->inputs, true, GpuCounts::several);
  command.options()
      .add_option("--top", options->top, "Fastest layouts to show and keep")
      ->check(CLI::Range(1, 10'000).description(""))
      ->capture_default_str();
  add_answer_options(command.options(), options->answers);
  add_space_options(command.options(), options->space);
  add_output_options(command, options->output);
  command.runs([options](const Call& call) { return run(*options, call); });
}

}  // namespace meshwright::app
