// SPDX-License-Identifier: Apache-2.0
// Layouts drawn from the table of fields, legal or not: always the same ones.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/layout/fields.h"

namespace meshwright {

// A few values of a field that say different things.
inline std::vector<int> some_values(const Field<int>& field) {
  if (field.values.high < 10) return {0, 1, 2, 3};
  return field.values.low == 0 ? std::vector{0, 1, 2, 4} : std::vector{1, 2, 4, 8};
}
inline std::vector<bool> some_values(const Field<bool>& /*field*/) { return {false, true}; }
// None, the first, the fourth, the second with the third, and all.
template <typename Module>
std::vector<ModuleSet<Module>> some_values(const Field<ModuleSet<Module>>& /*field*/) {
  return {{0}, {1}, {8}, {2 | 4}, {127}};
}
// Lists of 16 layers.
inline std::vector<PipelineLayout> some_values(const Field<PipelineLayout>& /*field*/) {
  const auto of = [](std::string_view text) {
    return std::get<PipelineLayout>(read_pipeline_layout(text));
  };
  return {PipelineLayout(), of("Et*3|t*5|t*5|t*3L"), of("Et*3|t*5|t*5|t*3mL")};
}
template <typename T>
std::vector<T> some_values(const Field<T>& field) {
  std::vector<T> values;
  for (const auto& entry : field.values.names) values.push_back(entry.value);
  return values;
}

class LayoutDraws {
 public:
  Layout next() {
    Layout layout;
    for_each_field([&](const auto& field) {
      const auto values = some_values(field);
      // Every other field keeps its default, or hardly any layout would be legal.
      const std::size_t choice = draw(2 * values.size());
      if (choice < values.size()) layout.*field.member = values[choice];
    });
    return layout;
  }

 private:
  std::size_t draw(std::size_t below) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::size_t>(state_ >> 33U) % below;
  }
  std::uint64_t state_ = 1;
};

}  // namespace meshwright
