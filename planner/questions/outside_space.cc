// SPDX-License-Identifier: Apache-2.0
#include "planner/questions/outside_space.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "planner/search/search_layouts.h"
#include "planner/search/space.h"
#include "sim/base/text.h"

namespace meshwright::planner {
namespace {

template <typename T>
std::vector<std::string> values_among(const std::vector<Layout>& candidates,
                                      const Field<T>& field) {
  std::vector<std::string> values;
  for (const Layout& candidate : candidates) {
    std::string value = value_text(field, candidate.*field.member);
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

// Keeps, field by field, the candidates that are like the layout; a field in which none is like it
// is outside and keeps all. The data size follows from the others.
std::vector<Layout> narrow(std::vector<Layout> candidates, SearchLevel level, const Layout& layout,
                           std::vector<OutsideAxis>& outside) {
  for_each_field([&](const auto& field) {
    if (field.level != level || field.name == "data_parallel_size") return;
    std::vector<Layout> alike;
    std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(alike),
                 [&](const Layout& c) { return c.*field.member == layout.*field.member; });
    if (!alike.empty()) {
      candidates = std::move(alike);
      return;
    }
    outside.push_back({field.name, field.option, value_text(field, layout.*field.member),
                       values_among(candidates, field)});
  });
  return candidates;
}

// `base` with what the layout says on a level.
Layout with_level(Layout base, const Layout& layout, SearchLevel level) {
  for_each_field([&](const auto& field) {
    if (field.level == level) base.*field.member = layout.*field.member;
  });
  return base;
}

std::vector<Layout> size_candidates(const Scenario& s, const SearchSpace& space) {
  std::vector<Layout> candidates;
  for (const ParallelSizes& sizes : parallel_sizes_of(s, space)) {
    Layout layout = sizes.defaults;
    layout.tensor_parallel_size = sizes.tensor;
    layout.pipeline_parallel_size = sizes.pipeline;
    layout.context_parallel_size = sizes.context;
    layout.expert_parallel_size = sizes.expert;
    layout.data_parallel_size = sizes.data;
    layout.rank_order = sizes.rank_order;
    candidates.push_back(layout);
  }
  return candidates;
}

}  // namespace

std::vector<OutsideAxis> outside_space(const Scenario& s, const SearchSpace& space,
                                       const Layout& layout) {
  std::vector<OutsideAxis> outside;
  const Layout defaults = default_layout(s.cluster);
  const SearchSpace wide = with_host(space, s);
  narrow(size_candidates(s, space), SearchLevel::parallel_sizes, layout, outside);
  const ParallelSizes own{layout.tensor_parallel_size,
                          layout.pipeline_parallel_size,
                          layout.context_parallel_size,
                          layout.expert_parallel_size,
                          layout.data_parallel_size,
                          layout.rank_order,
                          defaults};
  narrow(pipeline_settings(s.model, s.job, space, own), SearchLevel::pipeline, layout, outside);
  Layout base = with_level(with_level(defaults, layout, SearchLevel::parallel_sizes), layout,
                           SearchLevel::pipeline);
  const std::vector<Layout> alike =
      narrow(stage_settings(wide, base), SearchLevel::stage, layout, outside);
  narrow(data_settings(wide, base), SearchLevel::data, layout, outside);
  narrow(alike, SearchLevel::not_searched, layout, outside);
  return outside;
}

std::string outside_text(const std::vector<OutsideAxis>& outside) {
  std::string axes;
  for (const OutsideAxis& axis : outside) {
    const std::string searched =
        axis.searched.empty() ? "nothing" : fmt::to_string(fmt::join(axis.searched, ", "));
    append_to_list(
        axes, ", ",
        fmt::format("{} {} (searched: {})", axis.option.empty() ? axis.field : axis.option,
                    axis.value, searched));
  }
  return axes.empty() ? "" : fmt::format("It is outside the searched space: {}.\n", axes);
}

}  // namespace meshwright::planner
