// SPDX-License-Identifier: Apache-2.0
// Review of a running job: whether its layout fits, its step predicted beside measured, and what
// would be faster, by how much and how sure that is.
//
// A gain is a ratio of two predictions, so that what the model misses in both cancels; measured
// times that ratio is what the changed run should take. The probability counts the inputs' errors
// and the formulas' (confidence.h).
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/questions/attribution.h"
#include "planner/search/plan.h"
#include "planner/search/search.h"
#include "sim/step/scenario.h"

namespace meshwright::planner {

struct MeasuredStep {
  std::optional<Seconds> step_time, p10, p90;
  std::optional<Bytes> peak_memory;  // as the framework prints it
  bool out_of_memory = false;
  std::map<std::string, Seconds> timers;  // timers of Megatron-LM, by its names
};

// A part of the step that was measured and predicted alike.
struct MeasuredPart {
  std::string name;     // the timer's
  std::string meaning;  // predicted terms with which the timer is compared
  Seconds predicted, measured;
};

struct BetterLayout {
  Estimate estimate;
  bool same_sizes = false;          // tensor, pipeline, context, expert size as launched
  double predicted_ratio = 1.0;     // its step over the launched one's; where that does not fit, 0
  double probability_faster = 0.5;  // than the launched one
  std::optional<Seconds> expected_step;  // measured x predicted_ratio
  std::vector<SwitchEffect> effects;     // part of the difference that each switch causes
};

struct Review {
  std::optional<Violation> violation;  // rule that the launched layout breaks
  std::string sentence, smallest_change;
  std::optional<Estimate> estimate;  // unless a rule beside memory's is broken
  // Peak of the stage with the highest use, with eager attention; nothing if the launch states its
  // attention.
  std::optional<Bytes> eager_peak;
  Bytes printed_peak;                              // predicted, as the framework prints it
  std::optional<double> step_error, memory_error;  // predicted / measured - 1
  bool inside_interval = false;
  std::vector<MeasuredPart> parts;
  std::vector<BetterLayout> better;  // fastest first
  SearchStatistics statistics;
  // Fastest layouts that are faster than all that the launcher can express, counted by reason.
  NotExpressible not_expressible;
};

struct ReviewOptions {
  SearchOptions search;  // its target is the launcher
  std::size_t most = 3;  // better layouts
  bool attention_is_assumed = false;
};

Review review(const Scenario& scenario, const Layout& launched, const MeasuredStep& measured,
              const ReviewOptions& options);

}  // namespace meshwright::planner
