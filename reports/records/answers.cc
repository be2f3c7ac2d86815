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
  return kind::named<planner::WhatIfParameter>(
      names,
      [names](planner::WhatIfParameter parameter) {
        const auto found = std::find(names.begin(), names.end(), planner::text_of(parameter).name);
        return static_cast<std::size_t>(found - names.begin());
      },
      [](std::size_t place) { return planner::all_parameters()[place].parameter; });
}

// An input that is turned, and its words.
template <typename R>
void add_parameter(Record<R>& r) {
  r.template row<&R::parameter>(parameter_kind());
  r.template derived<std::string>("label", kind::text(), "For people.", [](const R& turned) {
    return std::string(planner::text_of(turned.parameter).label);
  });
  r.template derived<std::string>(
      "unit", kind::text(), "Of the values; empty: a share.",
      [](const R& turned) { return std::string(planner::text_of(turned.parameter).unit); });
}

// The reader refuses numbers that are smaller than any that people measure; a mean may be.
Kind<Seconds> mean_seconds() {
  return kind::base_amount<Seconds>().with(
      {.read = [](ObjectReader& reader, const std::string& key, Seconds& value) {
        const Json& given = reader.member(key);
        if (!given.is_number()) reader.fail(key, "must be a number");
        value = seconds(given.get<double>());
      }});
}

const Record<ObjectiveFacts>& objective_record() {
  return described([](Record<ObjectiveFacts>& r) {
    using R = ObjectiveFacts;
    r.about("What best means, and how good the winner is.");
    r.rows<&R::name, &R::unit, &R::meaning, &R::lower_is_better>();
    r.row<&R::value>(nullable(kAnyNumber), "The winner's; null where no layout fits.");
    r.named("Objective").all_required();
  });
}

const Record<PlanLimits>& plan_limits_record() {
  return described([](Record<PlanLimits>& r) {
    using R = PlanLimits;
    r.about("What a layout may not exceed.");
    r.row<&R::max_memory>(nullable(), "Of a device.");
    r.row<&R::headroom>(kind::fraction(true), "Share of the device's memory to leave free.");
    r.row<&R::max_step>(nullable());
    r.row<&R::max_cost>(nullable(), "Of the whole training.");
    r.named("PlanLimits").all_required();
  });
}

const Record<RankedName>& ranked_name_record() {
  return described([](Record<RankedName>& r) {
    using R = RankedName;
    r.about("A layout of the ranking.");
    r.row<&R::rank>("From 1.");
    r.rows<&R::short_name, &R::brief_name>();
    r.all_required();
  });
}

const Record<AgainstFacts>& against_record() {
  return described([](Record<AgainstFacts>& r) {
    using R = AgainstFacts;
    r.about("The winner beside a runner-up.");
    r.rows_of(ranked_name_record());
    r.row<&R::probability_winner_is_faster>(kind::fraction(true));
    r.row<&R::difference>(kAnyNumber, "The runner-up's step less the winner's.");
    r.row<&R::deviation>("One standard deviation of the difference.");
    r.row<&R::correlation>(NumberRange{.low = -1.000001, .high = 1.000001},
                           "Of the two layouts' errors.");
    r.row<&R::expected_gain>("expected_gain_seconds", mean_seconds(),
                             "Expected saving by trying the runner-up and keeping the better.");
    r.row<&R::runs_to_settle>(
        IntRange{.low = 0},
        "Runs of each that tell them apart; 0: the difference is too small to matter.");
    r.named("AgainstRunnerUp").all_required();
  });
}

const Record<ProposedRunFacts>& proposed_run_record() {
  return described([](Record<ProposedRunFacts>& r) {
    using R = ProposedRunFacts;
    r.about("A real run that would help to settle the ranking.");
    r.rows_of(ranked_name_record());
    r.rows<&R::runs, &R::reason>();
    r.named("ProposedRun").all_required();
  });
}

const Record<ConfidenceFacts>& confidence_record() {
  return described([](Record<ConfidenceFacts>& r) {
    using R = ConfidenceFacts;
    r.about("How sure the ranking is; null where no layout fits.");
    r.row<&R::probability_best>(kind::fraction(true),
                                "That the winner is the fastest of the contenders.");
    r.row<&R::expected_regret>("Share of a step that choosing it loses on average.");
    r.row<&R::relative_deviation>("Of the winner's step time.");
    r.row<&R::against>(against_record);
    r.row<&R::sentence>("Whether the choice is settled, and what ties with it.");
    r.row<&R::proposed_runs>(proposed_run_record, "Empty: no run would change the choice.");
    r.named("Confidence").all_required();
  });
}

const Record<planner::Perturbed>& perturbed_record() {
  return described([](Record<planner::Perturbed>& r) {
    using R = planner::Perturbed;
    r.about("The winner, and the best layout, with the input turned.");
    r.row<&R::factor>();
    r.row<&R::value>(kAnyNumber, "In the input's unit.");
    r.row<&R::step_time>("The winner's.");
    r.row<&R::best>(named_layout_record, "The best layout there.");
    r.row<&R::best_step_time>();
    r.named("Perturbed").all_required();
  });
}

const Record<SensitivityFacts>& sensitivity_record() {
  return described([](Record<SensitivityFacts>& r) {
    using R = SensitivityFacts;
    r.about("An input one standard deviation down and up.");
    add_parameter(r);
    r.row<&R::value>(kAnyNumber, "Today's.");
    r.row<&R::relative_spread>("One standard deviation.");
    r.row<&R::provenance>(kProvenanceNames);
    r.row<&R::low>(perturbed_record);
    r.row<&R::high>(perturbed_record);
    r.row<&R::capped>(
        "The upper side stands at the physical limit, nearer than one standard deviation.");
    r.absent_in_older_files();
    r.row<&R::changes_winner>("winner_changes", "");
    r.named("Sensitivity").all_required();
  });
}

// Tells whether something wins below a place, or above it.
Kind<bool> below_or_above() {
  return kind::named<bool>(
      {"below", "above"}, [](bool below) { return below ? std::size_t{0} : std::size_t{1}; },
      [](std::size_t place) { return place == 0; });
}

const Record<planner::Crossover>& crossover_record() {
  return described([](Record<planner::Crossover>& r) {
    using R = planner::Crossover;
    r.about("The value of an input from which on another layout is the best.");
    add_parameter(r);
    r.row<&R::below>("direction", below_or_above(), "Where the other layout wins.");
    r.row<&R::at>(kAnyNumber, "In the input's unit.");
    r.row<&R::today>(kAnyNumber);
    r.row<&R::factor>("At that value over today's.");
    r.row<&R::layout>("best", named_layout_record, "The best beyond.");
    r.row<&R::end_value>(kAnyNumber, "The end of the range that was looked at.");
    r.row<&R::end_layout>("end_best", named_layout_record, "The best there.");
    r.row<&R::gain_at_end>(kAnyNumber, "Share of the winner's step that the best saves there.");
    r.row<&R::winner_fits>("There, today's winner still runs.");
    r.absent_in_older_files();
    r.row<&R::exact>("A search of the whole space on both sides agrees.");
    r.derived<std::string>("sentence", kind::text(), "",
                           [](const R& crossover) { return planner::sentence_of(crossover); });
    r.named("Crossover").all_required();
  });
}

const Record<planner::Change>& change_record() {
  return described([](Record<planner::Change>& r) {
    using R = planner::Change;
    r.about("An input that is changed.");
    add_parameter(r);
    r.row<&R::factor>();
    r.row<&R::before>(kAnyNumber);
    r.row<&R::after>(kAnyNumber);
    r.named("Change").all_required();
  });
}

const Record<planner::TrainingCost>& training_cost_record() {
  return described([](Record<planner::TrainingCost>& r) {
    using R = planner::TrainingCost;
    r.about("Of the whole training; null where the job does not say its tokens.");
    r.row<&R::train_time>("train_seconds", "");
    r.row<&R::gpu_hours>();
    r.row<&R::cost>(nullable(), kCostAbout);
    r.row<&R::device_energy_kwh>(nullable(), "The devices' own, without cooling.");
    r.named("TrainingCost").all_required();
  });
}

const Record<planner::WhatIf>& what_if_record() {
  return described([](Record<planner::WhatIf>& r) {
    using R = planner::WhatIf;
    r.about("The plan under changed inputs.");
    r.row<&R::text>("As it was asked.");
    r.row<&R::changes>(change_record);
    r.row<&R::winner>(nullable(timed_layout_record),
                      "Under the changed inputs; null: no layout fits.");
    r.row<&R::base_winner>(nullable(timed_layout_record),
                           "Today's winner under the changed inputs; null: it cannot run.");
    r.row<&R::winner_changes>();
    r.row<&R::step_time_change>(kAnyNumber,
                                "The new winner's step over today's winner's today, less 1.");
    r.row<&R::needs>(nullable(training_cost_record));
    r.absent_in_older_files();
    r.row<&R::needs_today>(nullable(training_cost_record));
    r.absent_in_older_files();
    r.row<&R::sentence>();
    r.named("WhatIf").all_required();
  });
}

const Record<planner::RobustPick>& robust_pick_record() {
  return described([](Record<planner::RobustPick>& r) {
    using R = planner::RobustPick;
    r.about(
        "The fastest layout within 2 % of layout #1 that leaves 10 % of the memory free and has no "
        "chunk of one layer.");
    r.row<&R::pick>(nullable(timed_layout_record),
                    "Null: none meets the conditions, and the sentence says which fails.");
    r.row<&R::is_best>("It is layout #1.");
    r.row<&R::loss>(kAnyNumber, "Step time over layout #1's, less 1.");
    r.row<&R::sentence>();
    r.named("RobustPick").all_required();
  });
}

const Record<RedFlagFacts>& red_flag_record() {
  return described([](Record<RedFlagFacts>& r) {
    using R = RedFlagFacts;
    r.about("What an expert would ask about the winner. One of the two effects is a number.");
    r.row<&R::id>(planner::kRedFlagNames);
    r.row<&R::sentence>();
    r.row<&R::effect_time>("effect_seconds", nullable(kAnyNumber));
    r.row<&R::effect_memory>("effect_bytes", nullable(kAnyNumber));
    r.named("RedFlag").all_required();
  });
}

const Record<RuleOfThumbBest>& rule_of_thumb_best_record() {
  return described([](Record<RuleOfThumbBest>& r) {
    r.about("The best layout with the rule's sizes.");
    r.rows_of(timed_layout_record());
    r.row<&RuleOfThumbBest::relative_to_best>("Its step time over layout #1's.");
    r.named("RuleOfThumbBest").all_required();
  });
}

const Record<RuleOfThumbFacts>& rule_of_thumb_record() {
  return described([](Record<RuleOfThumbFacts>& r) {
    using R = RuleOfThumbFacts;
    r.about("NVIDIA's rule of thumb, model size to parallel sizes, predicted by the same model.");
    r.row<&R::row>("Of the rule's table.");
    r.rows<&R::sizes, &R::source>();
    r.row<&R::best>(nullable(rule_of_thumb_best_record),
                    "Null: no layout with these sizes runs, and the reason says why.");
    r.rows<&R::reason, &R::sentence>();
    r.named("RuleOfThumb").all_required();
  });
}

Record<Answers> make_answers_record(bool of_plan) {
  using R = Answers;
  Record<R> r("What the plan was asked beyond its ranking; null when it was made without.");
  r.row<&R::objective>(objective_record);
  r.row<&R::limits>(plan_limits_record);
  r.row<&R::confidence>(nullable(confidence_record));
  r.row<&R::sensitivity>(sensitivity_record, "Largest swing first.");
  r.row<&R::crossovers>(crossover_record, "Nearest to today's values first.");
  if (of_plan) {
    r.row<&R::scaling>(nullable(scaling_answer_record), "Null: one GPU count was asked for.");
  }
  r.row<&R::what_ifs>(what_if_record);
  if (of_plan) {
    r.row<&R::placement>(nullable(rank_map_record), "Of the winner.");
    r.absent_in_older_files();
  }
  r.row<&R::robust_pick>(nullable(robust_pick_record), "Null: another thing than time is wanted.");
  r.absent_in_older_files();
  r.row<&R::red_flags>(red_flag_record, "Largest effect first.");
  r.absent_in_older_files();
  r.row<&R::rule_of_thumb>(nullable(rule_of_thumb_record),
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
