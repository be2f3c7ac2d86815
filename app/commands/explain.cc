// SPDX-License-Identifier: Apache-2.0
#include "app/commands/explain.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands/output.h"
#include "app/files.h"
#include "app/program.h"
#include "planner/rejection.h"
#include "reports/plan_json.h"
#include "reports/table.h"
#include "sim/error.h"
#include "sim/json/reader.h"
#include "sim/names.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string subject;
  std::string layout;
};

int explain_rule(const std::string& name) {
  std::vector<std::string> names;
  for (const RuleText& text : all_rules()) {
    names.emplace_back(text.name);
    if (text.name != name) continue;
    fmt::print("{}\n  requirement: {}\n  reason:      {}\n  remedy:      {}\n", text.name,
               text.requirement, text.reason, text.remedy);
    return kDone;
  }
  const std::string near = nearest(name, names);
  throw InputError(fmt::format("\"{}\" is neither a rule nor a plan; rules are:\n  {}", name,
                               fmt::join(names, "\n  ")),
                   near.empty() ? "" : fmt::format("did you mean {}?", near));
}

int explain_rejected(CostTable& table, const reports::PlanFile& plan, const Layout& layout,
                     const Violation& violation, Bytes limit) {
  const RuleText& text = rule_text(violation.rule);
  const std::string change = planner::smallest_change(table, layout, limit);
  fmt::print("{} cannot run: {} ({}).\n  {}\n  {}\n", short_name(layout),
             describe(violation, plan.model, plan.job, layout), text.name, text.reason,
             text.remedy);
  if (!change.empty()) fmt::print("  smallest change that admits it: {}\n", change);
  return kGateFailed;
}

// Term by term: what the layout pays more than the winner, or less.
reports::Table against_winner(const Estimate& layout, const Estimate& winner) {
  reports::Table table{"",
                       {{"term", "term", ""},
                        {"layout_ms", "this layout", "ms"},
                        {"winner_ms", "winner", "ms"},
                        {"difference_ms", "difference", "ms"}},
                       {}};
  const auto add = [&](std::string_view name, Seconds mine, Seconds best) {
    if (mine.value() == 0.0 && best.value() == 0.0) return;
    table.rows.push_back({std::string(name), mine / milliseconds(1), best / milliseconds(1),
                          (mine - best) / milliseconds(1)});
  };
  for (std::size_t i = 0; i < layout.terms.size(); ++i) {
    add(name_of(layout.terms[i].kind), layout.terms[i].cost.time, winner.terms[i].cost.time);
  }
  add("step", layout.step_time, winner.step_time);
  return table;
}

int explain_layout(const Options& options) {
  const reports::PlanFile plan =
      reports::plan_from_json(read_json_file(options.subject), options.subject);
  const Layout layout = load_layout(options.layout);
  const Bytes limit = plan.cluster.device.memory * (1.0 - plan.search.memory_headroom);
  CostTable table(plan.model, plan.cluster, plan.job);
  const Evaluation evaluation = planner::evaluate_within(table, layout, limit);
  if (evaluation.violation) {
    return explain_rejected(table, plan, layout, *evaluation.violation, limit);
  }
  const Estimate mine = described(evaluation, plan.model, plan.cluster, plan.job, layout);
  if (plan.layouts.empty()) {
    fmt::print("{} runs in {:.4g} s; the plan has no winner.\n", short_name(layout),
               mine.step_time.value());
    return kDone;
  }
  const Outcome best = estimate(plan.model, plan.cluster, plan.job, plan.layouts.front());
  const auto* winner = std::get_if<Estimate>(&best);
  if (winner == nullptr) {
    throw InputError(options.subject, "/ranked/0", "no longer fits; make the plan again");
  }
  fmt::print("{}: {:.4g} s, {:.4g} GiB; winner {}: {:.4g} s, {:.4g} GiB. {:+.3g} % in time.\n\n{}",
             short_name(layout), mine.step_time.value(), in_gibibytes(mine.peak_memory()),
             short_name(winner->layout), winner->step_time.value(),
             in_gibibytes(winner->peak_memory()),
             100.0 * (mine.step_time / winner->step_time - 1.0),
             reports::table_to_text(against_winner(mine, *winner)));
  return kDone;
}

}  // namespace

void add_explain(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "explain", "A rule in words; or a plan's layout against its winner, or why it cannot run");
  command->add_option("subject", options->subject, "A rule's name, or a plan with --layout")
      ->required();
  command->add_option("--layout", options->layout, "Layout: a file, or text such as tp=8,pp=4");
  command->callback([options, &exit_code] {
    exit_code = options->layout.empty() ? explain_rule(options->subject) : explain_layout(*options);
  });
}

}  // namespace meshwright::app
