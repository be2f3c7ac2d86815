// SPDX-License-Identifier: Apache-2.0
// Differences between two plans: inputs, winner, step time and memory, and moves of layouts in the
// ranking. The numbers are those that the plans were made with, so that a change of the program's
// formulas shows as well.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright::planner {

struct RankedLayout {
  Layout layout;
  Seconds step_time;
  Bytes peak_memory;
};

struct PlanSide {
  std::map<std::string, std::string> inputs;  // JSON pointer -> value
  std::vector<RankedLayout> ranked;           // best first
};

struct InputChange {
  std::string pointer;
  std::string before, after;  // empty: not there
};

struct LayoutChange {
  Layout layout;
  std::optional<std::size_t> rank_before, rank_after;  // from 0; nothing: not ranked there
  std::optional<RankedLayout> before, after;
};

struct PlanDiff {
  std::vector<InputChange> inputs;
  std::string models;  // "different models: A before, B after"; empty: one model
  bool winner_changes = false;
  // Change of the best layout, after / before - 1; empty if one plan has none.
  std::optional<double> step_time, peak_memory;
  std::vector<LayoutChange>
      layouts;  // layouts of both rankings: by place in the later one, then those that it lacks
};

PlanDiff diff(const PlanSide& before, const PlanSide& after);

// "winner changes; step time 7.318 s -> 10.83 s (+48 %); peak memory 73.4 GiB -> 61.7 GiB".
std::string sentence_of(const PlanDiff& diff);

// A condition under which a diff fails a pipeline: "step_time>3%", "peak_memory>5%" (of the winner,
// more than before) or "winner" (another layout). A plan without a winner after one with a winner
// fails each.
struct Gate {
  enum class Kind { step_time, peak_memory, winner } kind = Kind::winner;
  double share = 0.0;  // largest allowed increase: 0.03 is 3 %
  std::string text;
};
// Throws InputError that says what is allowed.
Gate gate_from_text(const std::string& text);
// Why the gate fails, in words; empty: it holds.
std::string failure(const Gate& gate, const PlanDiff& diff);

}  // namespace meshwright::planner
