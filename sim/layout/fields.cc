// SPDX-License-Identifier: Apache-2.0
#include "sim/layout/fields.h"

#include <algorithm>

#include "sim/base/text.h"

namespace meshwright {

std::string name_of(const RankOrder& order) {
  std::string text;
  for (const Axis axis : order) {
    append_to_list(text, "-", name_of(axis));
  }
  return text;
}

std::string value_text(const Field<int>& /*field*/, int value) { return std::to_string(value); }
std::string value_text(const Field<bool>& /*field*/, bool value) { return value ? "on" : "off"; }
std::string value_text(const Field<RankOrder>& /*field*/, const RankOrder& value) {
  return name_of(value);
}
std::string value_text(const Field<PipelineLayout>& /*field*/, PipelineLayout value) {
  return std::string(value.text());
}

std::vector<std::string> joined_words(std::string_view text) { return split(text, '+'); }

std::vector<FieldDifference> differences(const Layout& a, const Layout& b) {
  std::vector<FieldDifference> found;
  for_each_field([&](const auto& field) {
    const auto& mine = a.*field.member;
    const auto& other = b.*field.member;
    if (mine == other) return;
    found.push_back({field.name, field.short_name, field.read_by, value_text(field, mine),
                     value_text(field, other)});
  });
  return found;
}

}  // namespace meshwright
