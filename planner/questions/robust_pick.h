// SPDX-License-Identifier: Apache-2.0
// The robust pick: the fastest layout that is at most 2 % slower than layout #1, keeps 10 % of the
// device's memory free and has no chunk of a single layer. Memory peaks, and messages and launches
// of single layers, are predicted least well, and matter less for such a layout.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/search/contenders.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"

namespace meshwright::planner {

inline constexpr double kRobustLoss = 0.02;  // largest loss, as a share of layout #1's step
inline constexpr double kRobustFree = 0.10;  // memory to leave free, as a share of the device's

// Several chunks a stage, of which at least one holds fewer than two layers:
// num_layers < 2 x pipeline size x virtual size.
bool has_one_layer_chunks(const Model& model, const Layout& layout);

struct RobustPick {
  std::optional<Timed> pick;  // nothing: no layout meets the conditions
  bool is_best = false;       // rank 1 is robust itself
  double loss = 0.0;          // step of the pick / step of layout #1 - 1
  std::string sentence;       // names the pick, or the condition that fails
};

// Chooses from `layouts`, layout #1 first and the others fastest first. Pure; empty if there are
// none.
RobustPick robust_pick(const Scenario& scenario, const std::vector<Timed>& layouts);

// Chooses from the whole space; layout #1 is the pool's first. It searches the space again if none
// of the fastest is robust. (chosen_plan()'s pool has every faster layout except near-duplicates.)
RobustPick robust_pick(const Plan& pool, const SearchOptions& search);

}  // namespace meshwright::planner
