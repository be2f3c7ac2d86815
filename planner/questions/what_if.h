// SPDX-License-Identifier: Apache-2.0
// The plan under changed inputs beside the plan as it is.
//
// A change is a parameter's name and a factor ("inter_node_bandwidth=0.5x"), a percentage ("+20%")
// or a value in its unit ("=400" or "=400GB/s"); a what-if is one change or several, with commas.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/questions/what_if_parameter.h"
#include "planner/search/contenders.h"
#include "planner/search/training_cost.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct Change {
  WhatIfParameter parameter = WhatIfParameter::gemm_efficiency;
  double factor = 1.0;               // on the input's current value
  double before = 0.0, after = 0.0;  // in the parameter's unit
};

struct WhatIf {
  std::string text;  // as it was asked
  std::vector<Change> changes;
  std::optional<Timed> winner;       // under the changed inputs; nothing: no layout fits
  std::optional<Timed> base_winner;  // today's winner under the changed inputs; nothing: cannot run
  bool winner_changes = false;
  double step_time_change = 0.0;  // new winner's step / today's winner's today - 1
  // Cost of the whole training, with and without the change, if the job states its tokens.
  std::optional<TrainingCost> needs{}, needs_today{};
  std::string sentence;
};

// Throws InputError for an unknown name or a value that is no positive number.
std::vector<Change> changes_from_text(const std::string& text, const Scenario& scenario);
Scenario changed(Scenario scenario, const std::vector<Change>& changes);

// Searches the whole space again. Throws InputError as changes_from_text() does.
WhatIf what_if(const Plan& plan, const SearchOptions& search, const std::string& text);

}  // namespace meshwright::planner
