// SPDX-License-Identifier: Apache-2.0
// Differences between two plans: inputs, winner, step time and memory, and moves of layouts in the
// ranking. The numbers are those that the plans were made with, so that a change of the program's
// formulas shows as well.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/enum_names.h"
#include "sim/base/units.h"
#include "sim/layout/layout.h"

namespace meshwright::planner {

struct RankedLayout {
  Layout layout;
  Seconds step_time;
  Bytes peak_memory;
};

// What a gate judges of the best layout. Days and cost are the medians of the whole training.
enum class PlanQuantity { step_time, tokens_per_second, mfu, peak_memory, days, cost };
inline constexpr std::array kPlanQuantityNames{
    EnumName{PlanQuantity::step_time, "step_time"},  // s
    EnumName{PlanQuantity::tokens_per_second, "tokens_per_second"},
    EnumName{PlanQuantity::mfu, "mfu"},                  // 0 to 1
    EnumName{PlanQuantity::peak_memory, "peak_memory"},  // GiB
    EnumName{PlanQuantity::days, "days"},
    EnumName{PlanQuantity::cost, "cost"}};  // in the currency of the prices
constexpr std::string_view name_of(PlanQuantity v) { return name_in(kPlanQuantityNames, v); }

// Nothing: the plan does not say it.
using PlanQuantities = std::array<std::optional<double>, kPlanQuantityNames.size()>;

struct PlanSide {
  std::map<std::string, std::string> inputs;  // JSON pointer -> value
  std::vector<RankedLayout> ranked;           // best first
  PlanQuantities best{};                      // of ranked.front()
  double tokens_per_step = 0.0;
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
  PlanQuantities before{}, after{};  // of the best layouts
  // Tokens of a step, after / before. Steps that hold different numbers are compared per token.
  double tokens_ratio = 1.0;
  // after / before - 1; nothing where one plan does not say the quantity.
  [[nodiscard]] std::optional<double> change(PlanQuantity quantity) const;
  std::vector<LayoutChange>
      layouts;  // layouts of both rankings: by place in the later one, then those that it lacks
};

PlanDiff diff(const PlanSide& before, const PlanSide& after);

// "winner changes; step time 7.318 s -> 10.83 s (+48 %); peak memory 73.4 GiB -> 61.7 GiB".
std::string sentence_of(const PlanDiff& diff);

// A condition under which a diff fails a pipeline: "step_time>3%" (more than 3 % above the earlier
// plan), "tokens_per_second<-3%", "days>30" (the later plan's value) or "winner" (another layout).
// A plan without a winner after one with a winner fails each.
struct Gate {
  std::optional<PlanQuantity> quantity{};  // nothing: the winner
  bool above = true;                       // fails above the limit; else below
  bool relative = true;                    // the limit is a change: 0.03 is 3 %
  double limit = 0.0;
  std::string text{};
};
// Throws InputError that says what is allowed.
Gate gate_from_text(const std::string& text);
// Why the gate fails, in words; empty: it holds.
std::string failure(const Gate& gate, const PlanDiff& diff);

}  // namespace meshwright::planner
