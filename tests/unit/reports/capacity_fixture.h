// SPDX-License-Identifier: Apache-2.0
// The capacity answer of a sample plan: its own layout on its GPUs, nothing searched.
#pragma once

#include "planner/capacity/capacity_answer.h"
#include "reports/records/report.h"
#include "tests/unit/reports/plan_fixture.h"

namespace meshwright::reports {

inline Capacity capacity_of(const planner::Plan& plan) {
  const std::vector<int> gpus{plan.cluster.num_gpus()};
  const bool fits = !plan.ranked.empty();
  return capacity_of(planner::capacity_answer(planner::capacity_question_of(plan, {}, gpus), fits),
                     "meshwright capacity --model m.json --cluster c.json");
}

inline ReportContents contents_of(const planner::Plan& plan) {
  ReportContents contents;
  contents.plan = plan;
  contents.origin = contents.plan_origin = sample_origin();
  contents.capacity = capacity_of(plan);
  return contents;
}

}  // namespace meshwright::reports
