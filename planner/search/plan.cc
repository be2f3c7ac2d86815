// SPDX-License-Identifier: Apache-2.0
#include "planner/search/plan.h"

#include <utility>
#include <variant>

#include "sim/step/cost_table.h"

namespace meshwright::planner {

std::optional<Unrunnable> estimate_ranked(Plan& plan, const std::vector<Layout>& layouts) {
  CostTable table(plan);
  plan.ranked.clear();
  for (const Layout& layout : layouts) {
    Outcome outcome = estimate(table, layout);
    if (const auto* infeasible = std::get_if<Infeasible>(&outcome)) {
      return Unrunnable{plan.ranked.size(), describe(infeasible->violation, plan.model, plan.job,
                                                     layout, devices_of(plan.cluster))};
    }
    plan.ranked.push_back(std::get<Estimate>(std::move(outcome)));
  }
  return std::nullopt;
}

}  // namespace meshwright::planner
