// SPDX-License-Identifier: Apache-2.0
#include "planner/search/space_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace meshwright::planner {
namespace {

constexpr double kMostCombinations = 20'000;
constexpr std::size_t kMostPipelineSettings = 100'000;

// Measured on one quiet core (docs/reference/coverage.md, Speed): a layout whose sizes break a rule
// takes 0.1 us, a stage setting that is legal 5 us, and each of its data settings less than 0.1 us.
constexpr std::int64_t kStageUnits = 50;

constexpr std::string_view kSplits = "--first-stage-layers";

// The option whose list is longest, of this level where one is at fault: that is where to begin.
std::string longest_list(const SearchSpace& space, std::optional<SearchLevel> at_fault) {
  std::string longest = "search space";
  std::size_t most = 1;
  const auto look = [&](SearchLevel level, std::string_view option, std::size_t size) {
    if (size <= most || (at_fault && level != *at_fault)) return;
    longest = option;
    most = size;
  };
  for_each_field(
      [&](const auto& field) { look(field.level, field.option, space[field.member].size()); });
  look(SearchLevel::pipeline, kSplits, space.stage_splits.size());
  return longest;
}

[[noreturn]] void refuse_lists(const SearchSpace& space, const std::string& why,
                               std::optional<SearchLevel> at_fault = std::nullopt) {
  throw InputError(longest_list(space, at_fault), "", why, "use fewer sizes in the longest lists");
}

}  // namespace

void check_lists(const SearchSpace& space) {
  std::array<double, 5> product{1.0, 1.0, 1.0, 1.0, 1.0};
  const auto multiply = [&](SearchLevel level, std::size_t size) {
    product[static_cast<std::size_t>(level)] *= static_cast<double>(std::max<std::size_t>(1, size));
  };
  for_each_field([&](const auto& field) { multiply(field.level, space[field.member].size()); });
  multiply(SearchLevel::pipeline, space.stage_splits.size());
  const auto* const most = std::max_element(product.begin(), product.end());
  if (*most <= kMostCombinations) return;
  refuse_lists(space,
               fmt::format("too many combinations of sizes (got {:.0f}; expected at most {:.0f})",
                           *most, kMostCombinations),
               static_cast<SearchLevel>(most - product.begin()));
}

void check_pipeline_settings(const SearchSpace& space, std::size_t settings) {
  if (settings <= kMostPipelineSettings) return;
  refuse_lists(
      space,
      fmt::format("too many combinations of stages, chunks and micro-batches (got {}; expected "
                  "at most {})",
                  settings, kMostPipelineSettings),
      SearchLevel::pipeline);
}

void SearchWork::price(std::size_t data_settings) {
  add(kStageUnits + static_cast<std::int64_t>(data_settings));
}

void SearchWork::add(std::int64_t units) {
  if (done_.fetch_add(units, std::memory_order_relaxed) + units <= options_.most_work) return;
  refuse_lists(
      options_.space,
      fmt::format("the search space is too large: more than {} search steps (a rejected layout "
                  "takes 1, a valid one up to {})",
                  options_.most_work, kStageUnits + 1));
}

}  // namespace meshwright::planner
