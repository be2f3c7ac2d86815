// SPDX-License-Identifier: Apache-2.0
// Answers about a plan in addition to its ranking: confidence, the sensitivity of its winner, the
// crossover points, how it scales, and what happens when an input changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/confidence.h"
#include "planner/questions/crossover.h"
#include "planner/questions/rank_map.h"
#include "planner/questions/red_flags.h"
#include "planner/questions/robust_pick.h"
#include "planner/questions/rule_of_thumb.h"
#include "planner/questions/scaling.h"
#include "planner/questions/sensitivity.h"
#include "planner/questions/what_if.h"
#include "planner/search/objective.h"

namespace meshwright::planner {

struct AnswerOptions {
  Objective objective = Objective::step_time;
  Limits limits;
  std::vector<std::string> what_ifs;  // as typed
  CrossoverOptions crossovers;
  ConfidenceOptions confidence;
};

struct Answers {
  AnswerOptions options;
  Confidence confidence;
  std::vector<Sensitivity> sensitivity;
  std::vector<Crossover> crossovers;
  Scaling scaling;  // empty when one count was asked for
  std::vector<WhatIf> what_ifs;
  RankMap placement;                         // placement of layout #1
  std::vector<RedFlag> red_flags;            // likewise, the largest effect first
  std::optional<RuleOfThumb> rule_of_thumb;  // for GPU clusters on which some layout fits
  std::optional<RobustPick> robust_pick;     // only if the objective is the step time
};

// Probability of beating the winner from which on a layout is a contender.
inline constexpr double kCouldWin = 0.01;

// Searches of the whole space that answers_of makes, at most: those of red flags, of the robust
// layout, of contenders and of more memory, and one a what-if.
std::size_t most_searches(const AnswerOptions& options);

// `plan` and `full`: chosen_plan()'s plan and pool. The pool's layouts are those that may win under
// other inputs. Confidence compares the contenders among the first kLayoutsKept of the plan. Where
// memory is what is wanted, questions of time are left out. `scaling`: of the GPU counts that were
// asked for. Deterministic: the same plans and options give the same answers. Throws InputError for
// a what-if that cannot be read and an objective that the records say too little for.
Answers answers_of(const Plan& plan, const Plan& full, const SearchOptions& search,
                   const AnswerOptions& options, Scaling scaling = {});

// "Below 22.4 GB/s of bandwidth between nodes (today 50) tp8 pp4 ... is faster; at 12.5 it saves
// 3.1 % of a step."
std::string sentence_of(const Crossover& crossover);

}  // namespace meshwright::planner
