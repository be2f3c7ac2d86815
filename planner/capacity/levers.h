// SPDX-License-Identifier: Apache-2.0
// Levers of days and cost: choices of a buyer, and uncertain inputs.
//
// A choice (global batch, GPUs) is halved and doubled, and layouts are searched again. Something
// uncertain is turned by one standard deviation of its own, up to what physics allows, while the
// row's layouts stay: they are chosen before the truth is known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/capacity_study.h"

namespace meshwright::planner {

struct LeverEnd {
  double value = 0.0;   // in the lever's unit
  std::string options;  // of `meshwright capacity`, beside those of the question: makes this number
  CapacityRow row;
};

struct Lever {
  std::string name{}, label{}, unit{};
  bool choice = false;
  std::string basis{};                    // where the spread comes from; empty: a choice
  double relative_spread = 0;             // one standard deviation
  double value = 0.0;                     // today
  std::optional<LeverEnd> low{}, high{};  // nothing: there is no such setting
  // Days and cost between the ends, or from the current value to the only one; 0 cost: no price.
  double swing_days = 0.0, swing_cost = 0.0;
};

// Every combination of a few settings, so that a page can step through them without a search.
struct WhatIfCell {
  double batch_factor = 1.0;
  int gpus = 0;
  double network_factor = 1.0;
  double failure_rate = 0.0;  // per 1,000 node-days
  CapacityRow row;
};
struct WhatIfGrid {
  std::vector<double> batch_factors, network_factors, failure_rates;
  std::vector<int> gpus;
  std::vector<WhatIfCell> cells;  // batches outermost, failure rates innermost
};

struct Levers {
  std::vector<Lever> levers;  // largest swing of days first
  WhatIfGrid grid;
};

// The question with detection and restart of `seconds` in all, and with another storage bandwidth
// or PUE; intervals keep their relative width.
CapacityQuestion with_restart_time(CapacityQuestion question, double seconds);
CapacityQuestion with_storage(CapacityQuestion question, double gb_per_s_per_node);
CapacityQuestion with_pue(CapacityQuestion question, double pue);

// Searches of the grid, at most: three batches, GPU counts and networks each.
inline constexpr std::size_t kGridSearches = 27;

// The options that make one of the grid's cells.
std::string options_of(const CapacityQuestion& question, const WhatIfCell& cell);

// For one row. `finder` is the one that found it, and keeps what is searched here.
Levers levers_of(const CapacityQuestion& question, const CapacityRow& row, LayoutFinder& finder,
                 const CapacityProgress& progress = {});

}  // namespace meshwright::planner
