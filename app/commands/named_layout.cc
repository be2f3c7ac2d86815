// SPDX-License-Identifier: Apache-2.0
#include "app/commands/named_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "app/files.h"
#include "planner/search/space.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 9 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "tp8" as tables print it is "tp=8"; flags and "recompute=full" are as they are typed.
std::string as_typed(const std::string& word) {
  const std::size_t digit = word.find_first_of("0123456789");
  const bool size = digit != std::string::npos && digit > 0 &&
                    word.find('=') == std::string::npos && is_number(word.substr(digit));
  return size ? word.substr(0, digit) + "=" + word.substr(digit) : word;
}

std::string with_commas(const std::string& printed) {
  std::string text;
  std::istringstream words(printed);
  for (std::string word; words >> word;) {
    if (!text.empty()) text += ',';
    text += as_typed(word);
  }
  return text;
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string item = text.substr(begin, end - begin);
    names.push_back(item.substr(0, item.find('=')));
    begin = end + 1;
  }
  return names;
}

bool has(const std::vector<std::string>& names, std::string_view brief, std::string_view full) {
  return std::find(names.begin(), names.end(), brief) != names.end() ||
         std::find(names.begin(), names.end(), full) != names.end();
}

// The plan's space with the axes that were named held at their values; nothing when the text names
// more than axes, and so a whole layout.
std::optional<planner::SearchSpace> open_space(const planner::SearchSpace& plan,
                                               const std::vector<std::string>& names,
                                               const Layout& layout) {
  planner::SearchSpace space = plan;
  std::size_t axes = 0;
  const auto hold = [&](auto& values, std::string_view brief, std::string_view full, auto value) {
    if (!has(names, brief, full)) return;
    values = {value};
    ++axes;
  };
  hold(space.tensor_parallel_sizes, "tp", "tensor_parallel_size", layout.tensor_parallel_size);
  hold(space.pipeline_parallel_sizes, "pp", "pipeline_parallel_size",
       layout.pipeline_parallel_size);
  hold(space.virtual_pipeline_parallel_sizes, "vpp", "virtual_pipeline_parallel_size",
       layout.virtual_pipeline_parallel_size);
  hold(space.context_parallel_sizes, "cp", "context_parallel_size", layout.context_parallel_size);
  hold(space.expert_parallel_sizes, "ep", "expert_parallel_size", layout.expert_parallel_size);
  hold(space.micro_batch_sizes, "mbs", "micro_batch_size", layout.micro_batch_size);
  hold(space.zero_stages, "zero", "zero_stage", layout.zero_stage);
  hold(space.sequence_parallel, "sp", "sequence_parallel", layout.sequence_parallel);
  hold(space.recompute, "recompute", "recompute_granularity", layout.recompute_granularity);
  hold(space.schedules, "schedule", "schedule", layout.schedule);
  if (axes != names.size()) return std::nullopt;
  return space;
}

MeantLayout of_rank(const reports::PlanFile& plan, const std::string& text) {
  const auto rank = static_cast<std::size_t>(std::stoi(text));
  if (rank == 0 || rank > plan.layouts.size()) {
    throw InputError(
        "--layout", "",
        fmt::format("the plan ranks {} layouts, there is no {}", plan.layouts.size(), text),
        "a rank is a number from 1, other layouts are written tp=8,pp=4");
  }
  MeantLayout meant;
  meant.layout = plan.layouts[rank - 1];
  meant.rank = rank - 1;
  return meant;
}

MeantLayout best_with(const reports::PlanFile& plan, const planner::SearchSpace& space,
                      const std::string& text) {
  planner::SearchOptions options = plan.search;
  options.space = space;
  options.top = 1;
  const planner::Plan found = planner::search(plan.model, plan.cluster, plan.job, options);
  MeantLayout meant;
  meant.rejections = found.rejections;
  if (!found.ranked.empty()) meant.layout = found.ranked.front().layout;
  meant.note = fmt::format("{} leaves the rest open: of {} layouts with it {} fit", text,
                           found.statistics.enumerated, found.statistics.fitting);
  meant.note += meant.layout ? ", and the fastest is explained.\n" : ".\n";
  return meant;
}

}  // namespace

MeantLayout meant_layout(const reports::PlanFile& plan, const std::string& text) {
  if (is_number(text)) return of_rank(plan, text);
  const bool printed = !std::filesystem::exists(text) && text.find(' ') != std::string::npos;
  const std::string typed = printed ? with_commas(text) : text;
  MeantLayout meant;
  meant.layout = load_layout(typed);
  if (std::filesystem::exists(text)) return meant;
  const std::vector<std::string> names = names_in(typed);
  const auto space = open_space(plan.search.space, names, *meant.layout);
  if (space) return best_with(plan, *space, typed);
  const bool overlaps_named = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name.find("overlap") != std::string::npos;
  });
  if (!overlaps_named) {
    const std::vector<bool>& asked = plan.search.space.overlap_grad_reduce;
    planner::set_overlaps(*meant.layout, asked.empty() || asked.front());
    meant.note = "Overlap switches are those that the plan's search sets.\n";
  }
  return meant;
}

}  // namespace meshwright::app
