// SPDX-License-Identifier: Apache-2.0
// Everything that a capacity review is told: the grid, the row to take, where scaling bends, and
// what moves days and money.
#pragma once

#include <optional>
#include <vector>

#include "planner/capacity/assumptions.h"
#include "planner/capacity/capacity_study.h"
#include "planner/capacity/frontier.h"
#include "planner/capacity/goodput_curves.h"
#include "planner/capacity/levers.h"
#include "planner/capacity/recommendation.h"
#include "planner/capacity/reference_run.h"
#include "planner/capacity/risks.h"
#include "planner/capacity/scaling_bend.h"

namespace meshwright::planner {

struct CapacityAnswer {
  CapacityQuestion question;
  std::vector<CapacityRow> rows;
  Recommendation recommendation;
  std::vector<FrontierPoint> frontier;  // slowest first
  std::vector<ScalingSeries> scaling;
  std::optional<ReferenceComparison> reference;
  Levers levers;            // of the row in front; empty where no layout fits or nobody asked
  std::vector<Risk> risks;  // likewise
  // Of the row in front; nothing: no layout fits.
  std::optional<TimeRanges> time_ranges;
  std::optional<GoodputCurves> goodput_curves;
  std::optional<std::size_t> planned;  // the row of the plan that this belongs to
  // The recommended row, else the one that misses its limits by least, else the plan's, else the
  // cheapest. Nothing: no layout fits.
  [[nodiscard]] const CapacityRow* front() const;
};

// Deterministic. Throws InputError for a what-if that cannot be read.
CapacityAnswer capacity_answer(const CapacityQuestion& question, bool with_levers,
                               const CapacityProgress& progress = {});

// Searches of the whole space that capacity_answer makes with levers, at most, where it does not
// refine: one a row, and those of the grid.
std::size_t most_searches(const CapacityQuestion& question);

// The capacity question of a plan's own inputs, on these GPU counts.
CapacityQuestion capacity_question_of(const Plan& plan, const SearchOptions& search,
                                      std::vector<int> gpus);

}  // namespace meshwright::planner
