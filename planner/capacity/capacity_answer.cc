// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_answer.h"

namespace meshwright::planner {

const CapacityRow* CapacityAnswer::front() const {
  for (const auto& place : {planned, recommendation.recommended, recommendation.closest}) {
    if (place) return &rows[*place];
  }
  return nullptr;
}

CapacityAnswer capacity_answer(const CapacityQuestion& question, bool with_levers,
                               const CapacityProgress& progress, std::optional<int> planned_gpus) {
  CapacityAnswer answer;
  answer.question = question;
  LayoutFinder finder(question);
  answer.rows = capacity_rows(question, finder, progress);
  answer.recommendation = recommend(answer.rows, question.options.limits);
  answer.scaling = scaling_series(answer.rows);
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    if (answer.rows[i].fits() && answer.rows[i].gpus == planned_gpus) answer.planned = i;
  }
  const CapacityRow* front = answer.front();
  if (front != nullptr && with_levers) {
    answer.levers = levers_of(question, *front, finder, progress);
  }
  return answer;
}

}  // namespace meshwright::planner
