// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/robust_pick.h"

#include <fmt/format.h>

#include <algorithm>

#include "planner/questions/red_flag_parts.h"
#include "planner/search/choice.h"
#include "planner/search/search_layouts.h"
#include "sim/base/number_text.h"
#include "sim/base/text.h"
#include "sim/layout/short_name.h"

namespace meshwright::planner {
namespace {

Bytes robust_memory(const Scenario& s) {
  return only_device(s.cluster).memory * (1.0 - kRobustFree);
}

std::string memory_share(const Scenario& s, const Timed& timed) {
  return fmt::format("{} %",
                     number_text(100.0 * (timed.peak_memory / only_device(s.cluster).memory), 3));
}

// The conditions that a layout does not meet, in words; empty: it is robust.
std::string failures(const Scenario& s, const Timed& timed) {
  std::string text;
  if (timed.peak_memory > robust_memory(s)) {
    append_to_list(text, " and ", fmt::format("uses {} of the memory", memory_share(s, timed)));
  }
  if (has_one_layer_chunks(s.model, timed.layout)) {
    append_to_list(text, " and ", "has chunks of one layer");
  }
  return text;
}

std::string cost_text(double loss, const Timed& timed, const Scenario& s) {
  return fmt::format("{} s ({} longer) and {} of the memory", number_text(timed.step_time.value()),
                     percent_text(loss), memory_share(s, timed));
}

// `why`: the conditions that layout #1 does not meet.
std::string nothing_robust(const Scenario& s, const std::vector<Timed>& layouts,
                           const std::string& why) {
  const Timed& other = layouts.back();
  if (layouts.size() == 1) {
    return fmt::format("No layout leaves {:.0f} % of the memory free. Layout #1 {}.",
                       100.0 * kRobustFree, why);
  }
  std::string text = fmt::format("No layout is robust. Layout #1 {}.", why);
  if (other.layout == layouts.front().layout) return text;
  return text + fmt::format(" The best other choice is {}. It {}.", brief_name(other.layout),
                            failures(s, other));
}

// The fastest with enough free memory, and among those without chunks of one layer where wanted.
std::optional<Timed> fastest_with_room(const Scenario& s, const SearchOptions& asked,
                                       bool whole_chunks) {
  SearchOptions options = asked;
  const auto refusal = asked.target.refusal;
  if (whole_chunks) {
    options.target.refusal = [&s, &refusal](const Layout& layout) -> std::string {
      if (has_one_layer_chunks(s.model, layout)) return "chunks of one layer";
      return refusal ? refusal(layout) : "";
    };
  }
  const Bytes limit = std::min(usable_memory(s, options), robust_memory(s));
  const auto found = fastest_layout(s, options, limit);
  if (!found) return std::nullopt;
  return Timed{found->layout, found->step_time, found->peak_memory};
}

}  // namespace

bool has_one_layer_chunks(const Model& model, const Layout& layout) {
  const int chunks = layout.virtual_pipeline_parallel_size;
  return chunks > 1 && model.num_layers < 2 * layout.pipeline_parallel_size * chunks;
}

RobustPick robust_pick(const Scenario& scenario, const std::vector<Timed>& layouts) {
  RobustPick result;
  if (layouts.empty()) return result;
  const Timed& best = layouts.front();
  const std::string why = failures(scenario, best);
  const auto robust = std::find_if(layouts.begin(), layouts.end(), [&](const Timed& timed) {
    return failures(scenario, timed).empty();
  });
  if (robust == layouts.begin()) {
    result.pick = best;
    result.is_best = true;
    result.sentence = fmt::format(
        "Layout #1 is robust: it leaves {:.0f} % of the memory free and has no chunk "
        "of one layer.",
        100.0 * kRobustFree);
    return result;
  }
  if (robust == layouts.end()) {
    result.sentence = nothing_robust(scenario, layouts, why);
    return result;
  }
  const double loss = robust->step_time / best.step_time - 1.0;
  if (loss > kRobustLoss) {
    result.sentence = fmt::format(
        "Layout #1 {}. No robust layout is within {:.0f} % of its step time. The fastest robust "
        "layout is {}. It takes {}.",
        why, 100.0 * kRobustLoss, brief_name(robust->layout), cost_text(loss, *robust, scenario));
    return result;
  }
  result.pick = *robust;
  result.loss = loss;
  result.sentence =
      fmt::format("Robust pick: {}. It takes {}. Layout #1 {}.", brief_name(robust->layout),
                  cost_text(loss, *robust, scenario), why);
  return result;
}

RobustPick robust_pick(const Plan& pool, const SearchOptions& search) {
  std::vector<Timed> layouts;
  const std::size_t fastest = std::min<std::size_t>(pool.ranked.size(), kLayoutsPooled);
  bool found = false;
  for (std::size_t i = 0; i < fastest && !found; ++i) {
    const Estimate& e = pool.ranked[i];
    const Timed timed{e.layout, e.step_time, e.peak_memory()};
    found = failures(pool, timed).empty();
    if (found || i == 0) layouts.push_back(timed);
  }
  if (!found && !layouts.empty()) {
    std::optional<Timed> other = fastest_with_room(pool, search, true);
    if (!other) other = fastest_with_room(pool, search, false);
    if (other) layouts.push_back(*std::move(other));
  }
  return robust_pick(static_cast<const Scenario&>(pool), layouts);
}

}  // namespace meshwright::planner
