// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/plan_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "sim/base/error.h"
#include "sim/base/number_text.h"
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
  if (!diff.step_time) {
    if (!diff.winner_changes) return "neither plan has a layout that fits";
    const bool lost = !diff.layouts.empty() && !diff.layouts.front().rank_after;
    return lost ? "no layout fits in the later plan" : "a layout fits now";
  }
  const RankedLayout& was = winner_before(diff);
  const RankedLayout& is = *diff.layouts.front().after;
  const std::string winner = diff.winner_changes
                                 ? fmt::format("the best layout changes from {} to {}",
                                               brief_name(was.layout), brief_name(is.layout))
                                 : fmt::format("the best layout stays {}", brief_name(is.layout));
  return fmt::format(
      "{}; step time {} s -> {} s ({} %); peak memory {} GiB -> {} GiB "
      "({} %)",
      winner, number_text(was.step_time.value()), number_text(is.step_time.value()),
      signed_number_text(100.0 * *diff.step_time, 2), number_text(in_gibibytes(was.peak_memory), 3),
      number_text(in_gibibytes(is.peak_memory), 3),
      signed_number_text(100.0 * *diff.peak_memory, 2));
}

[[noreturn]] void refuse_condition(const std::string& text) {
  throw InputError("--fail-if", "", fmt::format("unknown condition \"{}\"", text),
                   "use step_time>3%, peak_memory>5% (increase of the best layout) or winner "
                   "(another layout is best)");
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
  const RankedLayout& was = before.ranked.front();
  const RankedLayout& is = after.ranked.front();
  result.winner_changes = !(was.layout == is.layout);
  result.step_time = is.step_time / was.step_time - 1.0;
  result.peak_memory = is.peak_memory / was.peak_memory - 1.0;
  return result;
}

std::string sentence_of(const PlanDiff& diff) {
  return diff.models.empty() ? change_sentence(diff) : diff.models + "; " + change_sentence(diff);
}

Gate gate_from_text(const std::string& text) {
  Gate gate;
  gate.text = text;
  if (text == "winner") return gate;
  const std::size_t more = text.find('>');
  if (more == std::string::npos || !text.ends_with('%')) refuse_condition(text);
  const std::string name = text.substr(0, more);
  if (name != "step_time" && name != "peak_memory") refuse_condition(text);
  gate.kind = name == "step_time" ? Gate::Kind::step_time : Gate::Kind::peak_memory;
  const char* end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data() + more + 1, end, gate.share);
  if (error != std::errc() || rest != end || !(gate.share >= 0.0)) refuse_condition(text);
  gate.share /= 100.0;
  return gate;
}

std::string failure(const Gate& gate, const PlanDiff& diff) {
  const bool lost = diff.winner_changes && !diff.step_time && !diff.layouts.empty() &&
                    !diff.layouts.front().rank_after;
  if (lost) return "no layout fits in the later plan";
  if (gate.kind == Gate::Kind::winner) return diff.winner_changes ? "the winner changes" : "";
  const auto& change = gate.kind == Gate::Kind::step_time ? diff.step_time : diff.peak_memory;
  if (!change || *change <= gate.share) return "";
  return fmt::format("{} is {} %, more than {} %",
                     gate.kind == Gate::Kind::step_time ? "step_time" : "peak_memory",
                     signed_number_text(100.0 * *change, 3), number_text(100.0 * gate.share, 3));
}

}  // namespace meshwright::planner
