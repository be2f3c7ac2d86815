// SPDX-License-Identifier: Apache-2.0
// A plan that was really searched for, with all its answers, as meshwright plan makes it.
#pragma once

#include "plan_fixture.h"
#include "planner/questions/answers.h"
#include "planner/search/choice.h"
#include "planner/search/search.h"

namespace meshwright::reports {

struct AnsweredPlan {
  planner::Plan plan;
  planner::SearchOptions search;
  planner::Answers answers;
};

inline AnsweredPlan answered_plan(const Model& model = sample_model()) {
  AnsweredPlan result;
  result.search.top = 5;
  planner::AnswerOptions options;
  options.what_ifs = {"inter_node_bandwidth=0.5x", "memory_capacity=0.001x"};
  planner::ChosenPlan chosen = planner::chosen_plan(
      {model, sample_cluster(), sample_job()}, result.search, options.objective, options.limits);
  result.plan = std::move(chosen.plan);
  result.answers = planner::answers_of(result.plan, chosen.pool, result.search, options);
  result.answers.scaling = planner::scaling({model, sample_cluster(), sample_job()}, result.search,
                                            {{8, 16}, planner::Objective::step_time, {}});
  return result;
}

}  // namespace meshwright::reports
