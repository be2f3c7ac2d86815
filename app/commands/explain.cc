// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <filesystem>
#include <memory>
#include <variant>

#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/files/files.h"
#include "app/options/command.h"
#include "app/options/named_layout.h"
#include "app/options/output.h"
#include "app/options/question.h"
#include "planner/questions/explanation.h"
#include "planner/questions/outside_space.h"
#include "planner/questions/rank_map.h"
#include "planner/search/rejection.h"
#include "reports/records/plan_file.h"
#include "reports/tables/table.h"
#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/layout/short_name.h"
#include "sim/record/reader.h"
#include "sim/serving/rules.h"

namespace meshwright::app {
namespace {

struct ExplainOptions {
  std::string subject;
  std::string layout;
  std::string versus = "1";
};

template <typename Text>
void print_rule(const Text& text) {
  print("{}", wrapped(fmt::format("{}\n  requirement: {}\n  reason:      {}\n  remedy:      {}\n",
                                  text.name, text.requirement, text.reason, text.remedy)));
}

// A rule of layouts, or of an inference engine's replicas.
int explain_rule(const std::string& name) {
  std::vector<std::string> names;
  const auto found_in = [&](const auto& rules) {
    for (const auto& rule : rules) {
      names.emplace_back(rule.name);
      if (rule.name != name) continue;
      print_rule(rule);
      return true;
    }
    return false;
  };
  if (found_in(all_rules()) || found_in(serving_rules()) || found_in(serving_memory_rules())) {
    return kDone;
  }
  throw InputError(fmt::format("\"{}\" is neither a rule nor a plan. The rules are:\n  {}", name,
                               fmt::join(names, "\n  ")),
                   did_you_mean(name, names));
}

int explain_rejected(CostTable& table, const reports::PlanFile& plan, const Layout& layout,
                     const Violation& violation, Bytes limit) {
  const RuleText& text = rule_text(violation.rule);
  std::string change = planner::smallest_change(table, layout, limit);
  if (change.empty()) change = planner::change_on_more_gpus(table, layout, limit);
  print("{}", wrapped(fmt::format(
                  "{} cannot run: {} ({}).\n  why: {}\n  remedy: {}\n  smallest change that makes "
                  "it valid: {}\n",
                  brief_name(layout),
                  describe(violation, plan.model, plan.job, layout, devices_of(plan.cluster)),
                  text.name, text.reason, text.remedy,
                  change.empty() ? "none of the single changes tried" : change)));
  return kGateFailed;
}

// Every layout with the sizes that were named fell: under which rules, and what would admit one.
int explain_none(const NamedLayout& meant) {
  std::string text = meant.note + "None runs:\n";
  for (const planner::Rejection& r : meant.rejections) {
    text +=
        fmt::format("  {} were rejected by {}. Nearest, {}: {}.{}\n", r.count,
                    rule_text(r.rule).name, brief_name(r.nearest.layout), r.sentence,
                    r.smallest_change.empty() ? "" : " Would run with " + r.smallest_change + ".");
  }
  print("{}", wrapped(text));
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

// Estimates the layout that the user named. Returns an exit code instead after printing why it
// cannot run.
std::variant<Estimate, int> estimate_of(const reports::PlanFile& plan, CostTable& table,
                                        const NamedLayout& meant) {
  if (!meant.layout) return explain_none(meant);
  print("{}", wrapped(meant.note));
  const Bytes limit = only_device(plan.cluster).memory * (1.0 - plan.search.memory_headroom);
  const Evaluation evaluation = planner::evaluate_within(table, *meant.layout, limit);
  if (evaluation.violation) {
    return explain_rejected(table, plan, *meant.layout, *evaluation.violation, limit);
  }
  return described(evaluation, table, *meant.layout);
}

planner::Plan explained_question(const reports::PlanFile& plan) {
  planner::Plan asked;
  asked.model = plan.model;
  asked.cluster = plan.cluster;
  asked.job = plan.job;
  return asked;
}

int compare_layouts(const reports::PlanFile& plan, const Estimate& layout, const Estimate& versus,
                    const std::string& versus_name) {
  const planner::Explanation answer =
      planner::explanation(explained_question(plan), plan.search, layout, versus);
  print("{}", wrapped(planner::explanation_text(answer, versus_name)));
  if (layout.layout == versus.layout) return kDone;
  print("\n{}\n{}", table_text(terms_side_by_side(answer, versus_name)),
        wrapped(planner::rank_map_text(planner::rank_map(layout, plan.cluster), layout.layout,
                                       plan.cluster)));
  return kDone;
}

std::string rank_name(std::size_t rank) { return fmt::format("layout #{}", rank + 1); }

void print_question(const reports::PlanFile& plan) {
  print("{}\n", wrapped(question_text({plan, true, plan.defaults})));
}

int explain_layout(const ExplainOptions& options, const reports::PlanFile& plan) {
  print_question(plan);
  CostTable table(plan);
  const NamedLayout meant = named_layout(plan, options.layout);
  if (meant.layout) {
    print("{}", wrapped(planner::outside_text(
                    planner::outside_space(plan, plan.search.space, *meant.layout))));
  }
  const auto mine = estimate_of(plan, table, meant);
  if (const int* code = std::get_if<int>(&mine)) return *code;
  const auto& layout = std::get<Estimate>(mine);
  if (plan.ranked.empty() && options.versus == "1") {
    print("{}",
          wrapped(fmt::format("{} takes {} s per step. No layout of the plan fits.\n",
                              brief_name(layout.layout), number_text(layout.step_time.value()))));
    return kDone;
  }
  const NamedLayout versus = named_layout(plan, options.versus);
  const auto other = estimate_of(plan, table, versus);
  if (const int* code = std::get_if<int>(&other)) return *code;
  return compare_layouts(plan, layout, std::get<Estimate>(other),
                         versus.rank ? rank_name(*versus.rank) : "the other");
}

// Lists the gain of each choice of the best layout alone.
std::string choices_text(CostTable& table, const Estimate& winner) {
  std::string text;
  for (const planner::SwitchEffect& effect : planner::undone(table, winner.layout)) {
    if (effect.broken) {
      text += fmt::format("  {}: without it the layout cannot run ({})\n", name_of(effect),
                          rule_text(effect.broken->rule).name);
    } else {
      text += fmt::format("  {}: {} s {}, {} GiB\n", name_of(effect),
                          number_text(std::abs(effect.time.value()), 3),
                          effect.time.value() > 0.0 ? "more" : "less",
                          signed_number_text(in_gibibytes(effect.memory), 3));
    }
  }
  return text.empty() ? "" : "Effect of changing one choice at a time:\n" + text;
}

int explain_winner(const reports::PlanFile& plan) {
  print_question(plan);
  CostTable table(plan);
  if (plan.ranked.empty()) {
    print("No layout fits; name one with --layout.\n");
    return kGateFailed;
  }
  const auto first = estimate_of(plan, table, named_layout(plan, "1"));
  if (const int* code = std::get_if<int>(&first)) return *code;
  const auto& winner = std::get<Estimate>(first);
  const std::string text =
      fmt::format("Layout #1 is {}: {} s per step, {} GiB.\n{}", short_name(winner.layout),
                  number_text(winner.step_time.value()),
                  number_text(in_gibibytes(winner.peak_memory())), choices_text(table, winner));
  print("{}\n", wrapped(text));
  if (plan.ranked.size() == 1) return kDone;
  const auto second = estimate_of(plan, table, named_layout(plan, "2"));
  if (const int* code = std::get_if<int>(&second)) return *code;
  return compare_layouts(plan, winner, std::get<Estimate>(second), rank_name(1));
}

int explain(const ExplainOptions& options) {
  std::error_code none;
  const bool is_file = std::filesystem::is_regular_file(options.subject, none);
  if (options.layout.empty() && !is_file) return explain_rule(options.subject);
  const reports::PlanFile plan =
      reports::plan_file_record().read(read_json_file(options.subject), options.subject);
  return options.layout.empty() ? explain_winner(plan) : explain_layout(options, plan);
}

}  // namespace

void add_explain(Commands& commands) {
  auto options = std::make_shared<ExplainOptions>();
  Command& command = commands.add(
      "explain", "Explain why a layout is rejected or slower, or what a rule requires");
  command.reads("subject", options->subject, "Name of a rule, or a plan file")->required();
  command.reads("--layout", options->layout,
                "Layout to explain: its number in the plan (3), sizes (tp=8,pp=4: the fastest "
                "with them), a whole layout (with dp) as tables print it, or a file. Default: "
                "layout #1");
  command.reads("--versus", options->versus,
                "Layout to compare with, in the same forms. Default: 1, the best layout");
  command.only_with("--versus", "--layout");
  command.runs([options](const Call&) { return explain(*options); });
}

}  // namespace meshwright::app
