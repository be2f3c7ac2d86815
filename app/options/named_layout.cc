// SPDX-License-Identifier: Apache-2.0
#include "app/options/named_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "app/files/files.h"
#include "planner/search/space.h"
#include "sim/base/error.h"
#include "sim/json/layout_line.h"
#include "sim/layout/fields.h"
#include "sim/layout/short_name.h"

namespace meshwright::app {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 9 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool says(const LayoutLine& line, std::string_view field) {
  return std::find(line.fields.begin(), line.fields.end(), field) != line.fields.end();
}

// The plan's space with the axes that were named held at their values; nothing when the text names
// more than axes, or a switch that only whole layouts tell, and so a whole layout.
std::optional<planner::SearchSpace> open_space(const planner::SearchSpace& plan,
                                               const LayoutLine& line) {
  planner::SearchSpace space = plan;
  std::size_t held = 0;
  for_each_field([&](const auto& field) {
    if (field.option.empty() || !field.in_brief_name || !says(line, field.name)) return;
    space[field.member] = {line.layout.*field.member};
    ++held;
  });
  if (held != line.fields.size()) return std::nullopt;
  return space;
}

// The row that the tables print so.
std::optional<std::size_t> rank_printed_as(const reports::PlanFile& plan, const std::string& text) {
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const Layout& layout = plan.ranked[i].layout;
    if (text == short_name(layout) || text == brief_name(layout)) return i;
  }
  return std::nullopt;
}

NamedLayout of_rank(const reports::PlanFile& plan, const std::string& text) {
  const auto rank = static_cast<std::size_t>(std::stoi(text));
  if (rank == 0 || rank > plan.ranked.size()) {
    throw InputError(
        "--layout", "",
        fmt::format("the plan has layouts #1 to #{} (got {})", plan.ranked.size(), text),
        "use a number from 1, or sizes such as tp=8,pp=4");
  }
  NamedLayout meant;
  meant.layout = plan.ranked[rank - 1].layout;
  meant.rank = rank - 1;
  return meant;
}

NamedLayout best_with(const reports::PlanFile& plan, const planner::SearchSpace& space,
                      const std::string& text) {
  planner::SearchOptions options = plan.search;
  options.space = space;
  options.top = 1;
  const planner::Plan found = planner::search(plan, options);
  NamedLayout meant;
  meant.rejections = found.rejections;
  if (!found.ranked.empty()) meant.layout = found.ranked.front().layout;
  meant.note =
      fmt::format("{} leaves the other fields open: {} layouts have these sizes and {} fit", text,
                  found.statistics.enumerated, found.statistics.fitting);
  meant.note += meant.layout ? "; the fastest is explained.\n" : ".\n";
  return meant;
}

}  // namespace

NamedLayout named_layout(const reports::PlanFile& plan, const std::string& text) {
  if (is_number(text)) return of_rank(plan, text);
  const Layout defaults = default_layout(plan.cluster);
  const FeatureLimits& limits = plan.cluster.framework.limits;
  NamedLayout meant;
  if (const auto rank = rank_printed_as(plan, text)) {
    meant.layout = plan.ranked[*rank].layout;
    meant.rank = rank;
    return meant;
  }
  std::error_code none;  // a name too long for a file is no file
  if (std::filesystem::exists(text, none)) {
    meant.layout = planner::with_default_overlaps(load_stated_layout(text, defaults), limits,
                                                  plan.search.space);
    return meant;
  }
  const LayoutLine line = layout_line_from_text(text, defaults);
  if (const auto space = open_space(plan.search.space, line)) return best_with(plan, *space, text);
  const planner::StatedLayout stated{line.layout, line.fields};
  meant.layout = planner::with_default_overlaps(stated, limits, plan.search.space);
  const bool switched = *meant.layout != line.layout;
  if (!stated.says("moe_token_dispatcher_type")) {
    meant.layout = with_proven_dispatcher(*meant.layout, plan.cluster);
  }
  if (switched) {
    meant.note = "Overlap switches are set as in the plan's search.\n";
  }
  return meant;
}

}  // namespace meshwright::app
