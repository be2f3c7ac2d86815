// SPDX-License-Identifier: Apache-2.0
// Which switch causes how much of the difference between two layouts.
//
// Every switch that differs is turned, one after the other, from one layout to the other; what the
// step loses or gains with each is its effect. That depends on what was turned before, so an effect
// is the mean over all orders in which each layout on the way would start (its memory is not
// asked): Shapley's value over the legal orders. The effects add up to the difference. Sizes whose
// product must stay the same, and switches between which no layout is legal, are turned together.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/layout/fields.h"
#include "sim/step/evaluate.h"

namespace meshwright::planner {

struct SwitchEffect {
  std::vector<FieldDifference> fields;     // turned together; a: of `layout`, b: of `versus`
  Seconds time;                            // step time that it adds to `layout`; negative: saves
  std::array<Seconds, kNumTerms> terms{};  // parts of `time` by term; they add up to it
  Bytes memory;                            // peak memory that it adds to `layout`; negative: saves
  std::optional<Violation> broken;         // undone() alone: without it this rule is broken
};

// "tp 8 against 16, pp 16 against 8".
std::string name_of(const SwitchEffect& effect);

// Largest first; empty for equal layouts. Both are valid, except perhaps for memory.
std::vector<SwitchEffect> attribution(CostTable& table, const Layout& layout, const Layout& versus);

// Gain of each choice of a layout alone: the step time with it, compared with the default of that
// one switch. Sizes, micro-batch and split of the layers are no such choice.
std::vector<SwitchEffect> undone(CostTable& table, const Layout& layout);

}  // namespace meshwright::planner
