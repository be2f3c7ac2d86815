// SPDX-License-Identifier: Apache-2.0
// The planner's answers as a record.
#include "reports/records/answers.h"
#include "reports/records/parts.h"
#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

ObjectiveFacts objective_of(planner::Objective objective, const planner::Plan& plan) {
  const planner::ObjectiveText& words = planner::text_of(objective);
  ObjectiveFacts facts{.name = std::string(words.name),
                       .unit = std::string(words.unit),
                       .meaning = with_device_noun(words.meaning, plan.cluster),
                       .lower_is_better = words.lower_is_better};
  if (plan.ranked.empty()) return facts;
  const Estimate& winner = plan.ranked.front();
  facts.value = planner::objective_value(objective, plan, winner.step_time, winner.peak_memory());
  return facts;
}

RankedName name_at(std::size_t place, const planner::Plan& plan) {
  const Layout& layout = plan.ranked[place].layout;
  return {static_cast<int>(place) + 1, short_name(layout), brief_name(layout)};
}

ConfidenceFacts confidence_of(const planner::Confidence& found, const planner::Plan& plan) {
  ConfidenceFacts facts{.probability_best = found.probability_best,
                        .expected_regret = found.expected_regret,
                        .relative_deviation = found.relative_deviation,
                        .sentence = planner::sentence_of(found)};
  for (const planner::AgainstRunnerUp& a : found.against) {
    facts.against.push_back({name_at(a.rank, plan), a.probability_winner_is_faster, a.difference,
                             a.deviation, a.correlation, a.expected_gain, a.runs_to_settle});
  }
  for (const planner::ProposedRun& run : found.proposed_runs) {
    facts.proposed_runs.push_back({name_at(run.rank, plan), run.runs, run.reason});
  }
  return facts;
}

RedFlagFacts red_flag_of(const planner::RedFlag& flag) {
  RedFlagFacts facts{.id = flag.id, .sentence = flag.sentence};
  if (const auto* time = std::get_if<Seconds>(&flag.effect)) facts.effect_time = *time;
  if (const auto* memory = std::get_if<Bytes>(&flag.effect)) facts.effect_memory = *memory;
  return facts;
}

RuleOfThumbFacts rule_of_thumb_of(const planner::RuleOfThumb& rule, const Estimate& winner) {
  RuleOfThumbFacts facts{.row = std::string(rule.row->name),
                         .sizes = rule.sizes,
                         .source = std::string(planner::kRuleOfThumbSource)};
  if (rule.estimate) {
    const Estimate& best = *rule.estimate;
    facts.best = {{best.layout, best.step_time, best.peak_memory()},
                  best.step_time / winner.step_time};
  }
  facts.reason = rule.reason;
  facts.sentence = planner::sentence_of(rule, winner);
  return facts;
}

}  // namespace

Answers answers_of(const planner::Answers& answers, const planner::Plan& plan) {
  const planner::Limits& limits = answers.options.limits;
  Answers facts{
      .objective = objective_of(answers.options.objective, plan),
      .limits = {.max_memory = limits.max_memory,
                 .headroom = planner::asked_headroom(limits, plan.cluster.framework.memory),
                 .max_step = limits.max_step,
                 .max_cost = limits.max_cost}};
  if (!plan.ranked.empty()) {
    facts.confidence = confidence_of(answers.confidence, plan);
    facts.placement = answers.placement;
  }
  for (const planner::Sensitivity& s : answers.sensitivity) {
    facts.sensitivity.push_back({s, s.winner_changes(plan.ranked.front().layout)});
  }
  facts.crossovers = answers.crossovers;
  if (!answers.scaling.points.empty()) facts.scaling = answers.scaling;
  facts.what_ifs = answers.what_ifs;
  facts.robust_pick = answers.robust_pick;
  for (const planner::RedFlag& flag : answers.red_flags) {
    facts.red_flags.push_back(red_flag_of(flag));
  }
  if (answers.rule_of_thumb) {
    facts.rule_of_thumb = rule_of_thumb_of(*answers.rule_of_thumb, plan.ranked.front());
  }
  return facts;
}

}  // namespace meshwright::reports
