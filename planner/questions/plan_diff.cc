// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/plan_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

std::vector<InputChange> changed_inputs(const PlanSide& before, const PlanSide& after) {
  std::vector<InputChange> changes;
  for (const auto& [pointer, value] : before.inputs) {
    const auto there = after.inputs.find(pointer);
    const std::string now = there == after.inputs.end() ? "" : there->second;
    if (now != value) changes.push_back({pointer, value, now});
  }
  for (const auto& [pointer, value] : after.inputs) {
    if (!before.inputs.contains(pointer)) changes.push_back({pointer, "", value});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const InputChange& a, const InputChange& b) {
    return a.pointer < b.pointer;
  });
  return changes;
}

std::string model_change(const PlanDiff& diff, const PlanSide& before, const PlanSide& after) {
  const bool differ = std::any_of(diff.inputs.begin(), diff.inputs.end(), [](const auto& change) {
    return change.pointer.starts_with("/model/");
  });
  if (!differ) return "";
  const auto name = [](const PlanSide& side) {
    const auto found = side.inputs.find("/model/name");
    return found == side.inputs.end() ? std::string("an unnamed model") : found->second;
  };
  return fmt::format("different models: {} before, {} after", name(before), name(after));
}

std::optional<std::size_t> rank_of(const Layout& layout, const PlanSide& side) {
  for (std::size_t i = 0; i < side.ranked.size(); ++i) {
    if (side.ranked[i].layout == layout) return i;
  }
  return std::nullopt;
}

LayoutChange layout_change_of(const Layout& layout, const PlanSide& before, const PlanSide& after) {
  LayoutChange change;
  change.layout = layout;
  change.rank_before = rank_of(layout, before);
  change.rank_after = rank_of(layout, after);
  if (change.rank_before) change.before = before.ranked[*change.rank_before];
  if (change.rank_after) change.after = after.ranked[*change.rank_after];
  return change;
}

const RankedLayout& winner_before(const PlanDiff& diff) {
  const auto first = std::find_if(diff.layouts.begin(), diff.layouts.end(),
                                  [](const auto& c) { return c.rank_before == std::size_t{0}; });
  return *first->before;
}

std::string change_sentence(const PlanDiff& diff) {
  if (!diff.change(PlanQuantity::step_time)) {
    if (!diff.winner_changes) return "neither plan has a layout that fits";
    const bool lost = !diff.layouts.empty() && !diff.layouts.front().rank_after;
    return lost ? "no layout fits in the later plan" : "a layout fits now";
  }
  const RankedLayout& was = winner_before(diff);
  const RankedLayout& is = *diff.layouts.front().after;
  std::string text = diff.winner_changes
                         ? fmt::format("the best layout changes from {} to {}",
                                       brief_name(was.layout), brief_name(is.layout))
                         : fmt::format("the best layout stays {}", brief_name(is.layout));
  const bool other_steps = diff.tokens_ratio != 1.0;
  if (other_steps) {
    text += fmt::format("; a step holds {} x the tokens", number_text(diff.tokens_ratio, 3));
  }
  const auto add = [&](PlanQuantity quantity, std::string_view unit) {
    const auto at = static_cast<std::size_t>(quantity);
    text += fmt::format("; {} {}{} -> {}{} ({} %)", replaced(name_of(quantity), "_", " "),
                        number_text(*diff.before[at]), unit, number_text(*diff.after[at]), unit,
                        signed_number_text(100.0 * *diff.change(quantity), 2));
  };
  add(other_steps ? PlanQuantity::tokens_per_second : PlanQuantity::step_time,
      other_steps ? "" : " s");
  add(PlanQuantity::peak_memory, " GiB");
  return text;
}

constexpr std::string_view kConditions =
    "use NAME>3%, NAME<-3% (change), NAME>30 or NAME<30 (the later plan's value) with a name of "
    "step_time, tokens_per_second, mfu, peak_memory, days or cost; or winner (another layout is "
    "best)";

[[noreturn]] void refuse_condition(const std::string& text) {
  throw InputError("--fail-if", "", fmt::format("unknown condition \"{}\"", text),
                   std::string(kConditions));
}

}  // namespace

PlanDiff diff(const PlanSide& before, const PlanSide& after) {
  PlanDiff result;
  result.inputs = changed_inputs(before, after);
  result.models = model_change(result, before, after);
  for (const RankedLayout& ranked : after.ranked) {
    result.layouts.push_back(layout_change_of(ranked.layout, before, after));
  }
  for (const RankedLayout& ranked : before.ranked) {
    if (!rank_of(ranked.layout, after)) {
      result.layouts.push_back(layout_change_of(ranked.layout, before, after));
    }
  }
  if (before.ranked.empty() || after.ranked.empty()) {
    result.winner_changes = before.ranked.empty() != after.ranked.empty();
    return result;
  }
  result.winner_changes = !(before.ranked.front().layout == after.ranked.front().layout);
  result.before = before.best;
  result.after = after.best;
  result.tokens_ratio = after.tokens_per_step / before.tokens_per_step;
  return result;
}

std::optional<double> PlanDiff::change(PlanQuantity quantity) const {
  const auto at = static_cast<std::size_t>(quantity);
  if (!before[at] || !after[at]) return std::nullopt;
  const double tokens = quantity == PlanQuantity::step_time ? tokens_ratio : 1.0;
  return *after[at] / *before[at] / tokens - 1.0;
}

std::string sentence_of(const PlanDiff& diff) {
  return diff.models.empty() ? change_sentence(diff) : diff.models + "; " + change_sentence(diff);
}

Gate gate_from_text(const std::string& text) {
  Gate gate{.text = text};
  if (text == "winner") return gate;
  const std::size_t sign = text.find_first_of("<>");
  if (sign == std::string::npos) refuse_condition(text);
  const auto named = std::find_if(
      kPlanQuantityNames.begin(), kPlanQuantityNames.end(),
      [&](const auto& entry) { return entry.name == std::string_view(text).substr(0, sign); });
  if (named == kPlanQuantityNames.end()) refuse_condition(text);
  gate.quantity = named->value;
  gate.above = text[sign] == '>';
  gate.relative = text.ends_with('%');
  const char* end = text.data() + text.size() - (gate.relative ? 1 : 0);
  const auto [rest, error] = std::from_chars(text.data() + sign + 1, end, gate.limit);
  // A rise is positive, a fall negative; values are positive.
  const bool fits = gate.above || !gate.relative ? gate.limit >= 0.0 : gate.limit <= 0.0;
  if (error != std::errc() || rest != end || !fits) refuse_condition(text);
  if (gate.relative) gate.limit /= 100.0;
  return gate;
}

std::string failure(const Gate& gate, const PlanDiff& diff) {
  const bool lost =
      diff.winner_changes && !diff.layouts.empty() && !diff.layouts.front().rank_after;
  if (lost) return "no layout fits in the later plan";
  if (!gate.quantity) return diff.winner_changes ? "the winner changes" : "";
  const std::string_view name = name_of(*gate.quantity);
  const std::optional<double> value = gate.relative
                                          ? diff.change(*gate.quantity)
                                          : diff.after[static_cast<std::size_t>(*gate.quantity)];
  if (!value) {
    const bool nothing_before = diff.layouts.empty() || !diff.change(PlanQuantity::step_time);
    if (nothing_before) return "";
    throw InputError("--fail-if", "", fmt::format("{} is not in both plans", name),
                     "plan with --train-tokens, and --price for the cost");
  }
  if (gate.above ? *value <= gate.limit : *value >= gate.limit) return "";
  const std::string_view side = gate.above ? "more" : "less";
  if (!gate.relative) {
    return fmt::format("{} is {}, {} than {}", name, number_text(*value), side,
                       number_text(gate.limit));
  }
  return fmt::format("{} is {} %, {} than {} %", name, signed_number_text(100.0 * *value, 3), side,
                     number_text(100.0 * gate.limit, 3));
}

}  // namespace meshwright::planner
