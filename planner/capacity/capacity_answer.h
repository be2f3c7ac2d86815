// SPDX-License-Identifier: Apache-2.0
// Everything that a capacity review is told: the grid, the row to take, where scaling bends, and
// what moves days and money.
#pragma once

#include <optional>
#include <vector>

#include "planner/capacity/assumptions.h"
#include "planner/capacity/capacity_study.h"
#include "planner/capacity/levers.h"
#include "planner/capacity/recommendation.h"
#include "planner/capacity/scaling_bend.h"

namespace meshwright::planner {

struct CapacityAnswer {
  CapacityQuestion question;
  std::vector<CapacityRow> rows;
  Recommendation recommendation;
  std::vector<ScalingSeries> scaling;
  Levers levers;  // of the row in front; empty where no layout fits or nobody asked
  std::optional<std::size_t> planned;  // the row of the plan that this belongs to
  // The planned row, else the recommended, else the one that misses its limits by least. Nothing:
  // no layout fits.
  [[nodiscard]] const CapacityRow* front() const;
};

// `planned_gpus`: of the plan that this belongs to, if it belongs to one. Deterministic. Throws
// InputError for a what-if that cannot be read.
CapacityAnswer capacity_answer(const CapacityQuestion& question, bool with_levers,
                               const CapacityProgress& progress = {},
                               std::optional<int> planned_gpus = {});

}  // namespace meshwright::planner
