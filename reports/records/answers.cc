// SPDX-License-Identifier: Apache-2.0
#include "reports/records/answers.h"

#include "reports/records/parts.h"
#include "sim/hardware/device_noun.h"
#include "sim/hardware/placement.h"
#include "sim/layout/short_name.h"

namespace meshwright::reports {
namespace {

Kind<planner::WhatIfParameter> parameter_kind() {
  std::vector<std::string_view> names;
  for (const planner::WhatIfParameterText& text : planner::all_parameters()) {
    names.push_back(text.name);
  }
  return {
      .read =
          [names](ObjectReader& reader, const std::string& key, planner::WhatIfParameter& value) {
            value = planner::all_parameters()[read_choice(reader, key, names)].parameter;
          },
      .write =
          [](Json& json, const std::string& key, const planner::WhatIfParameter& value) {
            json[key] = planner::text_of(value).name;
          },
      .schema = [names] { return choice_schema(names); }};
}

// An input that is turned, and its words.
template <typename R>
void add_parameter(Record<R>& r) {
  r.row(&R::parameter, "parameter", parameter_kind(), "");
  r.template derived<std::string>("label", kind::text(), "For people.", [](const R& turned) {
    return std::string(planner::text_of(turned.parameter).label);
  });
  r.template derived<std::string>(
      "unit", kind::text(), "Of the values; empty: a share.",
      [](const R& turned) { return std::string(planner::text_of(turned.parameter).unit); });
}

// The reader refuses numbers that are smaller than any that people measure; a mean may be.
Kind<Seconds> mean_seconds() {
  Kind<Seconds> mean = kind::base_amount<Seconds>();
  mean.read = [](ObjectReader& reader, const std::string& key, Seconds& value) {
    const Json& given = reader.member(key);
    if (!given.is_number()) reader.fail(key, "must be a number");
    value = seconds(given.get<double>());
  };
  return mean;
}

const Record<ObjectiveFacts>& objective_record() {
  static const Record<ObjectiveFacts> record = [] {
    using R = ObjectiveFacts;
    Record<R> r("What best means, and how good the winner is.");
    r.row(&R::name, "name", kind::text(), "");
    r.row(&R::unit, "unit", kind::text(), "");
    r.row(&R::meaning, "meaning", kind::text(), "");
    r.row(&R::lower_is_better, "lower_is_better", kind::flag(), "");
    r.row(&R::value, "value", kind::nullable(kind::number(kAnyNumber)),
          "The winner's; null where no layout fits.");
    return r.named("Objective").all_required();
  }();
  return record;
}

const Record<PlanLimits>& plan_limits_record() {
  static const Record<PlanLimits> record = [] {
    using R = PlanLimits;
    Record<R> r("What a layout may not exceed.");
    r.row(&R::max_memory, "max_memory_bytes", kind::nullable(kind::base_amount<Bytes>()),
          "Of a device.");
    r.row(&R::headroom, "headroom", kind::fraction(true),
          "Share of the device's memory to leave free.");
    r.row(&R::max_step, "max_step_seconds", kind::nullable(kind::base_amount<Seconds>()), "");
    r.row(&R::max_cost, "max_cost", kind::nullable(kind::number()), "Of the whole training.");
    return r.named("PlanLimits").all_required();
  }();
  return record;
}

const Record<RankedName>& ranked_name_record() {
  static const Record<RankedName> record = [] {
    using R = RankedName;
    Record<R> r("A layout of the ranking.");
    r.row(&R::rank, "rank", kind::integer(), "From 1.");
    r.row(&R::short_name, "short_name", kind::text(), "");
    r.row(&R::brief_name, "brief_name", kind::text(), "");
    return r.all_required();
  }();
  return record;
}

const Record<AgainstFacts>& against_record() {
  static const Record<AgainstFacts> record = [] {
    using R = AgainstFacts;
    Record<R> r("The winner beside a runner-up.");
    r.rows_of(ranked_name_record());
    r.row(&R::probability_winner_is_faster, "probability_winner_is_faster", kind::fraction(true),
          "");
    r.row(&R::difference, "difference_seconds", kind::base_amount<Seconds>(kAnyNumber),
          "The runner-up's step less the winner's.");
    r.row(&R::deviation, "deviation_seconds", kind::base_amount<Seconds>(),
          "One standard deviation of the difference.");
    r.row(&R::correlation, "correlation", kind::number({.low = -1.000001, .high = 1.000001}),
          "Of the two layouts' errors.");
    r.row(&R::expected_gain, "expected_gain_seconds", mean_seconds(),
          "Expected saving by trying the runner-up and keeping the better.");
    r.row(&R::runs_to_settle, "runs_to_settle", kind::integer({.low = 0}),
          "Runs of each that tell them apart; 0: the difference is too small to matter.");
    return r.named("AgainstRunnerUp").all_required();
  }();
  return record;
}

const Record<ProposedRunFacts>& proposed_run_record() {
  static const Record<ProposedRunFacts> record = [] {
    using R = ProposedRunFacts;
    Record<R> r("A real run that would help to settle the ranking.");
    r.rows_of(ranked_name_record());
    r.row(&R::runs, "runs", kind::integer(), "");
    r.row(&R::reason, "reason", kind::text(), "");
    return r.named("ProposedRun").all_required();
  }();
  return record;
}

const Record<ConfidenceFacts>& confidence_record() {
  static const Record<ConfidenceFacts> record = [] {
    using R = ConfidenceFacts;
    Record<R> r("How sure the ranking is; null where no layout fits.");
    r.row(&R::probability_best, "probability_best", kind::fraction(true),
          "That the winner is the fastest of the contenders.");
    r.row(&R::expected_regret, "expected_regret", kind::number(),
          "Share of a step that choosing it loses on average.");
    r.row(&R::relative_deviation, "relative_deviation", kind::number(),
          "Of the winner's step time.");
    r.row(&R::against, "against", kind::list(against_record), "");
    r.row(&R::proposed_runs, "proposed_runs", kind::list(proposed_run_record),
          "Empty: no run would change the choice.");
    return r.named("Confidence").all_required();
  }();
  return record;
}

const Record<planner::Perturbed>& perturbed_record() {
  static const Record<planner::Perturbed> record = [] {
    using R = planner::Perturbed;
    Record<R> r("The winner, and the best layout, with the input turned.");
    r.row(&R::factor, "factor", kind::number(), "");
    r.row(&R::value, "value", kind::number(kAnyNumber), "In the input's unit.");
    r.row(&R::step_time, "step_time_seconds", kind::base_amount<Seconds>(), "The winner's.");
    r.row(&R::best, "best", kind::object(named_layout_record), "The best layout there.");
    r.row(&R::best_step_time, "best_step_time_seconds", kind::base_amount<Seconds>(), "");
    return r.named("Perturbed").all_required();
  }();
  return record;
}

const Record<SensitivityFacts>& sensitivity_record() {
  static const Record<SensitivityFacts> record = [] {
    using R = SensitivityFacts;
    Record<R> r("An input one standard deviation down and up.");
    add_parameter(r);
    r.row(&R::value, "value", kind::number(kAnyNumber), "Today's.");
    r.row(&R::relative_spread, "relative_spread", kind::number(), "One standard deviation.");
    r.row(&R::provenance, "provenance", kind::choice(kProvenanceNames), "");
    r.row(&R::low, "low", kind::object(perturbed_record), "");
    r.row(&R::high, "high", kind::object(perturbed_record), "");
    r.row(&R::capped, "capped", kind::flag(),
          "The upper side stands at the physical limit, nearer than one standard deviation.");
    r.absent_in_older_files();
    r.row(&R::changes_winner, "winner_changes", kind::flag(), "");
    return r.named("Sensitivity").all_required();
  }();
  return record;
}

// Tells whether something wins below a place, or above it.
Kind<bool> below_or_above() {
  const std::vector<std::string_view> names{"below", "above"};
  return {.read = [names](ObjectReader& reader, const std::string& key,
                          bool& below) { below = read_choice(reader, key, names) == 0; },
          .write = [names](Json& json, const std::string& key,
                           const bool& below) { json[key] = names[below ? 0 : 1]; },
          .schema = [names] { return choice_schema(names); }};
}

const Record<planner::Crossover>& crossover_record() {
  static const Record<planner::Crossover> record = [] {
    using R = planner::Crossover;
    Record<R> r("The value of an input from which on another layout is the best.");
    add_parameter(r);
    r.row(&R::below, "direction", below_or_above(), "Where the other layout wins.");
    r.row(&R::at, "at", kind::number(kAnyNumber), "In the input's unit.");
    r.row(&R::today, "today", kind::number(kAnyNumber), "");
    r.row(&R::factor, "factor", kind::number(), "At that value over today's.");
    r.row(&R::layout, "best", kind::object(named_layout_record), "The best beyond.");
    r.row(&R::end_value, "end_value", kind::number(kAnyNumber),
          "The end of the range that was looked at.");
    r.row(&R::end_layout, "end_best", kind::object(named_layout_record), "The best there.");
    r.row(&R::gain_at_end, "gain_at_end", kind::number(kAnyNumber),
          "Share of the winner's step that the best saves there.");
    r.row(&R::winner_fits, "winner_fits", kind::flag(), "There, today's winner still runs.");
    r.absent_in_older_files();
    r.row(&R::exact, "exact", kind::flag(), "A search of the whole space on both sides agrees.");
    r.derived<std::string>("sentence", kind::text(), "",
                           [](const R& crossover) { return planner::sentence_of(crossover); });
    return r.named("Crossover").all_required();
  }();
  return record;
}

const Record<planner::Change>& change_record() {
  static const Record<planner::Change> record = [] {
    using R = planner::Change;
    Record<R> r("An input that is changed.");
    add_parameter(r);
    r.row(&R::factor, "factor", kind::number(), "");
    r.row(&R::before, "before", kind::number(kAnyNumber), "");
    r.row(&R::after, "after", kind::number(kAnyNumber), "");
    return r.named("Change").all_required();
  }();
  return record;
}

const Record<planner::TrainingCost>& training_cost_record() {
  static const Record<planner::TrainingCost> record = [] {
    using R = planner::TrainingCost;
    Record<R> r("Of the whole training; null where the job does not say its tokens.");
    r.row(&R::train_time, "train_seconds", kind::base_amount<Seconds>(), "");
    r.row(&R::gpu_hours, "gpu_hours", kind::number(), "");
    r.row(&R::cost, "cost", kind::nullable(kind::number()), kCostAbout);
    r.row(&R::device_energy_kwh, "device_energy_kwh", kind::nullable(kind::number()),
          "The devices' own, without cooling.");
    return r.named("TrainingCost").all_required();
  }();
  return record;
}

const Record<planner::WhatIf>& what_if_record() {
  static const Record<planner::WhatIf> record = [] {
    using R = planner::WhatIf;
    Record<R> r("The plan under changed inputs.");
    r.row(&R::text, "text", kind::text(), "As it was asked.");
    r.row(&R::changes, "changes", kind::list(change_record), "");
    r.row(&R::winner, "winner", kind::nullable(kind::object(timed_layout_record)),
          "Under the changed inputs; null: no layout fits.");
    r.row(&R::base_winner, "base_winner", kind::nullable(kind::object(timed_layout_record)),
          "Today's winner under the changed inputs; null: it cannot run.");
    r.row(&R::winner_changes, "winner_changes", kind::flag(), "");
    r.row(&R::step_time_change, "step_time_change", kind::number(kAnyNumber),
          "The new winner's step over today's winner's today, less 1.");
    r.row(&R::needs, "needs", kind::nullable(kind::object(training_cost_record)), "");
    r.absent_in_older_files();
    r.row(&R::needs_today, "needs_today", kind::nullable(kind::object(training_cost_record)), "");
    r.absent_in_older_files();
    r.row(&R::sentence, "sentence", kind::text(), "");
    return r.named("WhatIf").all_required();
  }();
  return record;
}

const Record<planner::RobustPick>& robust_pick_record() {
  static const Record<planner::RobustPick> record = [] {
    using R = planner::RobustPick;
    Record<R> r(
        "The fastest layout within 2 % of layout #1 that leaves 10 % of the memory free and has no "
        "chunk of one layer.");
    r.row(&R::pick, "pick", kind::nullable(kind::object(timed_layout_record)),
          "Null: none meets the conditions, and the sentence says which fails.");
    r.row(&R::is_best, "is_best", kind::flag(), "It is layout #1.");
    r.row(&R::loss, "loss", kind::number(kAnyNumber), "Step time over layout #1's, less 1.");
    r.row(&R::sentence, "sentence", kind::text(), "");
    return r.named("RobustPick").all_required();
  }();
  return record;
}

const Record<RedFlagFacts>& red_flag_record() {
  static const Record<RedFlagFacts> record = [] {
    using R = RedFlagFacts;
    Record<R> r("What an expert would ask about the winner. One of the two effects is a number.");
    r.row(&R::id, "id", kind::choice(planner::kRedFlagNames), "");
    r.row(&R::sentence, "sentence", kind::text(), "");
    r.row(&R::effect_time, "effect_seconds", kind::nullable(kind::base_amount<Seconds>(kAnyNumber)),
          "");
    r.row(&R::effect_memory, "effect_bytes", kind::nullable(kind::base_amount<Bytes>(kAnyNumber)),
          "");
    return r.named("RedFlag").all_required();
  }();
  return record;
}

const Record<RuleOfThumbBest>& rule_of_thumb_best_record() {
  static const Record<RuleOfThumbBest> record = [] {
    Record<RuleOfThumbBest> r("The best layout with the rule's sizes.");
    r.rows_of(timed_layout_record());
    r.row(&RuleOfThumbBest::relative_to_best, "relative_to_best", kind::number(),
          "Its step time over layout #1's.");
    return r.named("RuleOfThumbBest").all_required();
  }();
  return record;
}

const Record<RuleOfThumbFacts>& rule_of_thumb_record() {
  static const Record<RuleOfThumbFacts> record = [] {
    using R = RuleOfThumbFacts;
    Record<R> r(
        "NVIDIA's rule of thumb, model size to parallel sizes, predicted by the same model.");
    r.row(&R::row, "row", kind::text(), "Of the rule's table.");
    r.row(&R::sizes, "sizes", kind::text(), "");
    r.row(&R::source, "source", kind::text(), "");
    r.row(&R::best, "best", kind::nullable(kind::object(rule_of_thumb_best_record)),
          "Null: no layout with these sizes runs, and the reason says why.");
    r.row(&R::reason, "reason", kind::text(), "");
    r.row(&R::sentence, "sentence", kind::text(), "");
    return r.named("RuleOfThumb").all_required();
  }();
  return record;
}

Record<Answers> make_answers_record(bool of_plan) {
  using R = Answers;
  Record<R> r("What the plan was asked beyond its ranking; null when it was made without.");
  r.row(&R::objective, "objective", kind::object(objective_record), "");
  r.row(&R::limits, "limits", kind::object(plan_limits_record), "");
  r.row(&R::confidence, "confidence", kind::nullable(kind::object(confidence_record)), "");
  r.row(&R::sensitivity, "sensitivity", kind::list(sensitivity_record), "Largest swing first.");
  r.row(&R::crossovers, "crossovers", kind::list(crossover_record),
        "Nearest to today's values first.");
  if (of_plan) {
    r.row(&R::scaling, "scaling", kind::nullable(kind::object(scaling_answer_record)),
          "Null: one GPU count was asked for.");
  }
  r.row(&R::what_ifs, "what_ifs", kind::list(what_if_record), "");
  if (of_plan) {
    r.row(&R::placement, "placement", kind::nullable(kind::object(rank_map_record)),
          "Of the winner.");
    r.absent_in_older_files();
  }
  r.row(&R::robust_pick, "robust_pick", kind::nullable(kind::object(robust_pick_record)),
        "Null: another thing than time is wanted.");
  r.absent_in_older_files();
  r.row(&R::red_flags, "red_flags", kind::list(red_flag_record), "Largest effect first.");
  r.absent_in_older_files();
  r.row(&R::rule_of_thumb, "rule_of_thumb", kind::nullable(kind::object(rule_of_thumb_record)),
        "Null: no layout runs, or the devices are no GPUs.");
  r.absent_in_older_files();
  return r.named("Answers").all_required();
}

}  // namespace

const Record<Answers>& plan_answers_record() {
  static const Record<Answers> record = make_answers_record(true);
  return record;
}

const Record<Answers>& report_answers_record() {
  static const Record<Answers> record = make_answers_record(false);
  return record;
}

}  // namespace meshwright::reports
