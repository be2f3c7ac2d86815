// SPDX-License-Identifier: Apache-2.0
#include "planner/capacity/capacity_answer.h"

#include <algorithm>
#include <utility>

#include "planner/capacity/capacity_grid.h"

namespace meshwright::planner {

const CapacityRow* CapacityAnswer::front() const {
  for (const auto& place :
       {recommendation.recommended, recommendation.closest, planned, recommendation.cheapest}) {
    if (place) return &rows[*place];
  }
  return nullptr;
}

CapacityAnswer capacity_answer(const CapacityQuestion& question, bool with_levers,
                               const CapacityProgress& progress) {
  CapacityAnswer answer;
  answer.question = question;
  LayoutFinder finder(question);
  answer.rows = capacity_rows(question, finder, progress);
  answer.recommendation = recommend(answer.rows, question);
  answer.frontier = frontier_of(answer.rows);
  answer.scaling = scaling_series(answer.rows);
  for (std::size_t i = 0; i < answer.rows.size(); ++i) {
    const bool own =
        question.planned && answer.rows[i].gpus == world_size(question.planned->layout);
    if (own && answer.rows[i].fits()) answer.planned = i;
  }
  answer.reference = reference_of(question, answer.rows, finder);
  const CapacityRow* front = answer.front();
  if (front != nullptr) {
    std::vector<RunPhase> phases;
    for (const CapacityPhase& phase : front->phases) phases.push_back(run_phase_of(phase));
    answer.time_ranges = time_ranges(front->run, phases, question.options, front->gpus);
    answer.goodput_curves = goodput_curves(question, *front);
  }
  if (front != nullptr && with_levers) {
    answer.levers = levers_of(question, *front, finder, progress);
    answer.risks = risks_of(question, *front, answer.levers, answer.reference, finder);
  }
  return answer;
}

std::size_t most_searches(const CapacityQuestion& question) {
  return grid_of(question).size() + kGridSearches;
}

CapacityQuestion capacity_question_of(const Plan& plan, const SearchOptions& search,
                                      std::vector<int> gpus) {
  CapacityQuestion question;
  question.model = plan.model;
  question.clusters = {{plan.cluster.name, plan.cluster, plan.job}};
  question.gpus = std::move(gpus);
  question.global_batch_sizes = {plan.job.global_batch_size};
  question.train_tokens = plan.job.train_tokens;
  question.search = search;
  // More GPUs have more sizes than the plan's own search was limited to.
  const int most = *std::max_element(question.gpus.begin(), question.gpus.end());
  question.search.most_work *= std::max(1, most / plan.cluster.num_gpus());
  if (!plan.ranked.empty()) question.planned = plan.ranked.front();
  return question;
}

}  // namespace meshwright::planner
