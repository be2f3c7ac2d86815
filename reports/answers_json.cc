// SPDX-License-Identifier: Apache-2.0
#include "reports/answers_json.h"

#include "sim/hardware/device_noun.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

// A layout with the names that people read.
Json named(const Layout& layout) {
  return {{"short_name", short_name(layout)},
          {"brief_name", brief_name(layout)},
          {"layout", meshwright::to_json(layout)}};
}

template <typename T>
Json number_or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json parameter_words(planner::WhatIfParameter parameter) {
  const planner::WhatIfParameterText& words = planner::text_of(parameter);
  return {{"parameter", words.name}, {"label", words.label}, {"unit", words.unit}};
}

Json turned_to_json(const planner::Turned& turned) {
  return {{"factor", turned.factor},
          {"value", turned.value},
          {"step_time_seconds", turned.step_time.value()},
          {"best", named(turned.best)},
          {"best_step_time_seconds", turned.best_step_time.value()}};
}

Json timed_or_null(const std::optional<planner::Timed>& timed) {
  if (!timed) return {};
  Json json = named(timed->layout);
  json["step_time_seconds"] = timed->step_time.value();
  json["peak_memory_bytes"] = timed->peak_memory.value();
  return json;
}

// Of the whole training.
Json needs_or_null(const std::optional<planner::TrainingCost>& needs) {
  if (!needs) return {};
  return {{"train_seconds", needs->train_time.value()},
          {"gpu_hours", needs->gpu_hours},
          {"cost", number_or_null(needs->cost)},
          {"device_energy_kwh", number_or_null(needs->device_energy_kwh)}};
}

Json objective_to_json(planner::Objective objective, const planner::Plan& plan) {
  const planner::ObjectiveText& words = planner::text_of(objective);
  Json json{{"name", words.name},
            {"unit", words.unit},
            {"meaning", with_device_noun(words.meaning, plan.cluster)},
            {"lower_is_better", words.lower_is_better},
            {"value", Json()}};
  if (plan.ranked.empty()) return json;
  const Estimate& winner = plan.ranked.front();
  json["value"] = planner::objective_value(objective, plan, winner.step_time, winner.peak_memory());
  return json;
}

Json plan_limits_to_json(const planner::Limits& limits, const MemoryFacts& facts) {
  return {{"max_memory_bytes", limits.max_memory ? Json(limits.max_memory->value()) : Json()},
          {"headroom", planner::asked_headroom(limits, facts)},
          {"max_step_seconds", limits.max_step ? Json(limits.max_step->value()) : Json()},
          {"max_cost", number_or_null(limits.max_cost)}};
}

Json point_to_json(const planner::ScalePoint& point) {
  Json json{{"gpus", point.gpus}};
  if (!point.layout) {
    json["reason"] = point.reason;
    return json;
  }
  json.update(named(*point.layout));
  json["step_time_seconds"] = point.step_time.value();
  json["step_time_low_seconds"] = point.step_time_low.value();
  json["step_time_high_seconds"] = point.step_time_high.value();
  json["peak_memory_bytes"] = point.peak_memory.value();
  json["memory_headroom"] = point.memory_headroom;
  json["tokens_per_second_per_gpu"] = point.tokens_per_second_per_gpu;
  json["model_flops_utilization"] = point.model_flops_utilization;
  json["efficiency"] = point.efficiency;
  json["cost"] = number_or_null(point.cost);
  json["device_energy_kwh"] = number_or_null(point.device_energy_kwh);
  json["objective"] = point.objective;
  return json;
}

}  // namespace

Json to_json(const planner::Confidence& confidence, const planner::Plan& plan) {
  Json json{{"probability_best", confidence.probability_best},
            {"expected_regret", confidence.expected_regret},
            {"relative_deviation", confidence.relative_deviation}};
  json["against"] = Json::array();
  for (const planner::AgainstRunnerUp& a : confidence.against) {
    json["against"].push_back({{"rank", a.rank + 1},
                               {"short_name", short_name(plan.ranked[a.rank].layout)},
                               {"brief_name", brief_name(plan.ranked[a.rank].layout)},
                               {"probability_winner_is_faster", a.probability_winner_is_faster},
                               {"difference_seconds", a.difference.value()},
                               {"deviation_seconds", a.deviation.value()},
                               {"correlation", a.correlation},
                               {"expected_gain_seconds", a.expected_gain.value()},
                               {"runs_to_settle", a.runs_to_settle}});
  }
  json["proposed_runs"] = Json::array();
  for (const planner::ProposedRun& run : confidence.proposed_runs) {
    json["proposed_runs"].push_back({{"rank", run.rank + 1},
                                     {"short_name", short_name(plan.ranked[run.rank].layout)},
                                     {"brief_name", brief_name(plan.ranked[run.rank].layout)},
                                     {"runs", run.runs},
                                     {"reason", run.reason}});
  }
  return json;
}

Json to_json(const planner::Sensitivity& sensitivity, const Layout& winner) {
  Json json = parameter_words(sensitivity.parameter);
  json["value"] = sensitivity.value;
  json["relative_spread"] = sensitivity.relative_spread;
  json["provenance"] = name_of(sensitivity.provenance);
  json["low"] = turned_to_json(sensitivity.low);
  json["high"] = turned_to_json(sensitivity.high);
  json["capped"] = sensitivity.capped;
  json["winner_changes"] = sensitivity.winner_changes(winner);
  return json;
}

Json to_json(const planner::Crossover& crossover) {
  Json json = parameter_words(crossover.parameter);
  json["direction"] = crossover.below ? "below" : "above";
  json["at"] = crossover.at;
  json["today"] = crossover.today;
  json["factor"] = crossover.factor;
  json["best"] = named(crossover.layout);
  json["end_value"] = crossover.end_value;
  json["end_best"] = named(crossover.end_layout);
  json["gain_at_end"] = crossover.gain_at_end;
  json["winner_fits"] = crossover.winner_fits;
  json["exact"] = crossover.exact;
  json["sentence"] = planner::sentence_of(crossover);
  return json;
}

Json to_json(const planner::Scaling& scaling) {
  Json json{{"points", Json::array()}, {"choices", Json::array()}};
  for (const planner::ScalePoint& point : scaling.points) {
    json["points"].push_back(point_to_json(point));
  }
  for (const planner::Choice& choice : scaling.choices) {
    Json entry{{"gpus", choice.gpus}};
    entry.update(named(choice.layout));
    entry["step_time_seconds"] = choice.step_time.value();
    entry["peak_memory_bytes"] = choice.peak_memory.value();
    entry["gpu_seconds"] = choice.gpu_seconds;
    json["choices"].push_back(entry);
  }
  json["best"] = number_or_null(scaling.best);
  return json;
}

Json to_json(const planner::WhatIf& what_if) {
  Json json{{"text", what_if.text}};
  json["changes"] = Json::array();
  for (const planner::Change& change : what_if.changes) {
    Json entry = parameter_words(change.parameter);
    entry["factor"] = change.factor;
    entry["before"] = change.before;
    entry["after"] = change.after;
    json["changes"].push_back(entry);
  }
  json["winner"] = timed_or_null(what_if.winner);
  json["base_winner"] = timed_or_null(what_if.base_winner);
  json["winner_changes"] = what_if.winner_changes;
  json["step_time_change"] = what_if.step_time_change;
  json["needs"] = needs_or_null(what_if.needs);
  json["needs_today"] = needs_or_null(what_if.needs_today);
  json["sentence"] = what_if.sentence;
  return json;
}

Json to_json(const planner::RankMap& map) {
  Json json{{"axes", Json::array()}, {"nodes", Json::array()}};
  for (const planner::AxisPlace& axis : map.axes) {
    json["axes"].push_back({{"group", name_of(axis.group)},
                            {"group_size", axis.placement.group_size},
                            {"ranks_per_node", axis.placement.ranks_per_node},
                            {"num_nodes", axis.placement.num_nodes},
                            {"tier", name_of(axis.tier)},
                            {"link", axis.link},
                            {"sent_per_step_bytes", axis.sent_per_step.value()},
                            {"share_of_step", axis.share_of_step}});
  }
  for (std::size_t i = 0; i < map.nodes.size(); ++i) {
    Json node{{"node", map.node_numbers[i]}, {"ranks", Json::array()}};
    for (const planner::RankPlace& rank : map.nodes[i]) {
      Json entry{{"rank", rank.rank}};
      for (std::size_t a = 0; a < planner::kMappedAxes.size(); ++a) {
        entry[std::string(name_of(planner::kMappedAxes[a]))] = rank.coordinates[a];
      }
      node["ranks"].push_back(entry);
    }
    json["nodes"].push_back(node);
  }
  return json;
}

Json to_json(const planner::RedFlag& flag) {
  const auto* time = std::get_if<Seconds>(&flag.effect);
  const auto* memory = std::get_if<Bytes>(&flag.effect);
  return {{"id", name_of(flag.id)},
          {"sentence", flag.sentence},
          {"effect_seconds", time != nullptr ? Json(time->value()) : Json()},
          {"effect_bytes", memory != nullptr ? Json(memory->value()) : Json()}};
}

Json to_json(const planner::RuleOfThumb& rule, const Estimate& winner) {
  Json best;
  if (rule.estimate) {
    best = timed_or_null(planner::Timed{rule.estimate->layout, rule.estimate->step_time,
                                        rule.estimate->peak_memory()});
    best["relative_to_best"] = rule.estimate->step_time / winner.step_time;
  }
  return {{"row", rule.row->name},
          {"sizes", rule.sizes},
          {"source", planner::kRuleOfThumbSource},
          {"best", best},
          {"reason", rule.reason},
          {"sentence", planner::sentence_of(rule, winner)}};
}

Json to_json(const planner::RobustPick& robust) {
  return {{"pick", timed_or_null(robust.pick)},
          {"is_best", robust.is_best},
          {"loss", robust.loss},
          {"sentence", robust.sentence}};
}

Json answers_to_json(const planner::Answers& answers, const planner::Plan& plan) {
  Json json;
  json["objective"] = objective_to_json(answers.options.objective, plan);
  json["limits"] = plan_limits_to_json(answers.options.limits, plan.cluster.framework.memory);
  json["confidence"] = plan.ranked.empty() ? Json() : to_json(answers.confidence, plan);
  json["sensitivity"] = Json::array();
  for (const planner::Sensitivity& s : answers.sensitivity) {
    json["sensitivity"].push_back(to_json(s, plan.ranked.front().layout));
  }
  json["crossovers"] = Json::array();
  for (const planner::Crossover& c : answers.crossovers) json["crossovers"].push_back(to_json(c));
  json["scaling"] = answers.scaling.points.empty() ? Json() : to_json(answers.scaling);
  json["what_ifs"] = Json::array();
  for (const planner::WhatIf& w : answers.what_ifs) json["what_ifs"].push_back(to_json(w));
  json["placement"] = plan.ranked.empty() ? Json() : to_json(answers.placement);
  json["robust_pick"] = answers.robust_pick ? to_json(*answers.robust_pick) : Json();
  json["red_flags"] = Json::array();
  for (const planner::RedFlag& flag : answers.red_flags) json["red_flags"].push_back(to_json(flag));
  json["rule_of_thumb"] =
      answers.rule_of_thumb ? to_json(*answers.rule_of_thumb, plan.ranked.front()) : Json();
  return json;
}

}  // namespace meshwright::reports
