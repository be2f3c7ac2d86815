// SPDX-License-Identifier: Apache-2.0
// The answers beside a plan's ranking, as the plan's "answers": objective, limits, confidence,
// sensitivity, crossovers, scaling, what-ifs, red flags, rule of thumb. Layouts of the ranking are
// named by their place in it.
#pragma once

#include "planner/questions/answers.h"
#include "sim/json/records.h"

namespace meshwright::reports {

Json to_json(const planner::Confidence& confidence, const planner::Plan& plan);
Json to_json(const planner::Sensitivity& sensitivity, const Layout& winner);
Json to_json(const planner::Crossover& crossover);
Json to_json(const planner::Scaling& scaling);
Json to_json(const planner::WhatIf& what_if);
Json to_json(const planner::RankMap& map);
Json to_json(const planner::RedFlag& flag);
Json to_json(const planner::RuleOfThumb& rule, const Estimate& winner);
Json to_json(const planner::RobustPick& robust);
Json answers_to_json(const planner::Answers& answers, const planner::Plan& plan);

}  // namespace meshwright::reports
