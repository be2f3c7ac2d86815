// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <variant>

#include "app/command.h"
#include "app/commands/commands.h"
#include "app/commands/named_layout.h"
#include "app/commands/question.h"
#include "app/files.h"
#include "app/program.h"
#include "app/terminal.h"
#include "planner/questions/explanation.h"
#include "planner/questions/rank_map.h"
#include "planner/search/rejection.h"
#include "reports/plan_json.h"
#include "reports/table.h"
#include "sim/base/error.h"
#include "sim/json/reader.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

struct Options {
  std::string subject;
  std::string layout;
  std::string versus = "1";
};

int explain_rule(const std::string& name) {
  std::vector<std::string> names;
  for (const RuleText& text : all_rules()) {
    names.emplace_back(text.name);
    if (text.name != name) continue;
    print("{}\n  requirement: {}\n  reason:      {}\n  remedy:      {}\n", text.name,
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
  std::string change = planner::smallest_change(table, layout, limit);
  if (change.empty()) change = planner::change_on_more_gpus(table, layout, limit);
  print("{} cannot run: {} ({}).\n  why: {}\n  remedy: {}\n", brief_name(layout),
        describe(violation, plan.model, plan.job, layout, devices_of(plan.cluster)), text.name,
        text.reason, text.remedy);
  print("  smallest change that admits it: {}\n",
        change.empty() ? "none of the single changes that were tried" : change);
  return kGateFailed;
}

// Every layout with the sizes that were named fell: under which rules, and what would admit one.
int explain_none(const NamedLayout& meant) {
  print("{}None runs:\n", meant.note);
  for (const planner::Rejection& r : meant.rejections) {
    print("  {} fell to {}. Nearest, {}: {}.{}\n", r.count, rule_text(r.rule).name,
          brief_name(r.nearest.layout), r.sentence,
          r.smallest_change.empty() ? "" : " Would run with " + r.smallest_change + ".");
  }
  if (meant.rejections.empty()) print("  these sizes do not multiply to the GPU count.\n");
  return kGateFailed;
}

reports::Table terms_side_by_side(const planner::Explanation& e, const std::string& versus) {
  reports::Table table{"",
                       {{"term", "term", ""},
                        {"layout_ms", "this layout", "ms"},
                        {"versus_ms", versus, "ms"},
                        {"difference_ms", "difference", "ms"}},
                       {}};
  const auto add = [&](std::string_view name, Seconds mine, Seconds other) {
    table.rows.push_back({std::string(name), mine / milliseconds(1), other / milliseconds(1),
                          (mine - other) / milliseconds(1)});
  };
  for (const planner::TermDifference& term : e.terms)
    add(name_of(term.kind), term.layout, term.versus);
  add("step", e.layout.step_time, e.versus.step_time);
  return table;
}

// What a user named: an estimate, or the exit code after the reason was printed.
std::variant<Estimate, int> estimate_of(const reports::PlanFile& plan, CostTable& table,
                                        const NamedLayout& meant) {
  if (!meant.layout) return explain_none(meant);
  print("{}", meant.note);
  const Bytes limit = plan.cluster.device.memory * (1.0 - plan.search.memory_headroom);
  const Evaluation evaluation = planner::evaluate_within(table, *meant.layout, limit);
  if (evaluation.violation) {
    return explain_rejected(table, plan, *meant.layout, *evaluation.violation, limit);
  }
  return described(evaluation, table, *meant.layout);
}

int explain_layout(const Options& options) {
  const reports::PlanFile plan =
      reports::plan_from_json(read_json_file(options.subject), options.subject);
  print("{}\n", question_text({plan.model, plan.cluster, plan.job, true, plan.defaults}));
  CostTable table(plan.model, plan.cluster, plan.job);
  const auto mine = estimate_of(plan, table, named_layout(plan, options.layout));
  if (const int* code = std::get_if<int>(&mine)) return *code;
  const auto& layout = std::get<Estimate>(mine);
  if (plan.layouts.empty() && options.versus == "1") {
    print("{} runs in {:.4g} s; the plan has no winner.\n", brief_name(layout.layout),
          layout.step_time.value());
    return kDone;
  }
  const NamedLayout versus = named_layout(plan, options.versus);
  const auto other = estimate_of(plan, table, versus);
  if (const int* code = std::get_if<int>(&other)) return *code;
  const std::string name = versus.rank ? fmt::format("rank {}", *versus.rank + 1) : "the other";
  planner::Plan asked;
  asked.model = plan.model;
  asked.cluster = plan.cluster;
  asked.job = plan.job;
  const planner::Explanation answer =
      planner::explanation(asked, plan.search, layout, std::get<Estimate>(other));
  print("{}", planner::explanation_text(answer, name));
  if (layout.layout == answer.versus.layout) return kDone;
  print(
      "\n{}\n{}", reports::table_to_text(terms_side_by_side(answer, name)),
      planner::rank_map_text(planner::rank_map(layout, plan.cluster), layout.layout, plan.cluster));
  return kDone;
}

}  // namespace

void add_explain(Commands& commands) {
  auto options = std::make_shared<Options>();
  Command& command = commands.add(
      "explain", "Why not this layout, and why is one better than another? Or a rule in words");
  command.reads("subject", options->subject, "A rule's name, or a plan with --layout")->required();
  command.reads("--layout", options->layout,
                "A rank of the plan (3), sizes (tp=8,pp=4: the fastest with them), a whole "
                "layout (with dp), as a table prints it, or a file");
  command.reads("--versus", options->versus,
                "The layout to compare with, written likewise; default: 1, the winner");
  command.only_with("--versus", "--layout");
  command.runs([options](const Call&) {
    return options->layout.empty() ? explain_rule(options->subject) : explain_layout(*options);
  });
}

}  // namespace meshwright::app
