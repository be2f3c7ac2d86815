// SPDX-License-Identifier: Apache-2.0
#include "planner/accuracy/picks.h"

#include <algorithm>

#include "planner/questions/attribution.h"
#include "sim/hardware/placement.h"

namespace meshwright::planner {
namespace {

// The term that is longer in theirs by most.
TermKind most_saved(const Estimate& theirs, const Estimate& ours) {
  std::size_t most = 0;
  const auto saved = [&](std::size_t k) {
    return theirs.terms[k].cost.time - ours.terms[k].cost.time;
  };
  for (std::size_t k = 1; k < ours.terms.size(); ++k) {
    if (saved(k) > saved(most)) most = k;
  }
  return ours.terms[most].kind;
}

void fill_claim(Pick& pick, CostTable& table) {
  pick.claim = pick.theirs->step_time / pick.ours->step_time - 1.0;
  pick.term = name_of(most_saved(*pick.theirs, *pick.ours));
  const auto effects = attribution(table, pick.ours->layout, pick.theirs->layout);
  const auto cause = std::min_element(effects.begin(), effects.end(),
                                      [](const auto& a, const auto& b) { return a.time < b.time; });
  if (cause != effects.end()) pick.cause = name_of(*cause);
}

Pick pick_of(const MeasuredRun& run, const SearchOptions& options) {
  Pick pick;
  CostTable table(run);
  const Evaluation theirs = evaluate(table, run.layout, MemoryLimit::reported);
  pick.refused = theirs.violation;
  if (!theirs.violation || theirs.violation->rule == Rule::memory_capacity) {
    pick.theirs = described(theirs, table, run.layout);
  }
  Plan plan = search(run, options);
  if (plan.ranked.empty()) return pick;
  pick.ours = std::move(plan.ranked.front());
  pick.leaves_domain =
      place(Group::tensor, pick.ours->layout, run.cluster).tier() == Tier::inter_node;
  if (pick.theirs) fill_claim(pick, table);
  return pick;
}

}  // namespace

std::vector<Pick> picks(const MeasuredSet& set, const SearchOptions& search) {
  SearchOptions first = search;
  first.top = 1;
  std::vector<Pick> found;
  for (std::size_t i = 0; i < set.runs.size(); ++i) {
    found.push_back(pick_of(set.runs[i], first));
    found.back().run = i;
  }
  return found;
}

}  // namespace meshwright::planner
