// SPDX-License-Identifier: Apache-2.0
#include "reports/json_at.h"

#include <cmath>

namespace meshwright::reports {

const Json& part_at(const Json& json, std::string_view key) {
  static const Json nothing;
  if (!json.is_object()) return nothing;
  const auto found = json.find(std::string(key));
  return found == json.end() ? nothing : *found;
}

std::string text_at(const Json& json, std::string_view key) {
  const Json& text = part_at(json, key);
  return text.is_string() ? text.get<std::string>() : "";
}

bool flag_at(const Json& json, std::string_view key) {
  const Json& flag = part_at(json, key);
  return flag.is_boolean() && flag.get<bool>();
}

double number_at(const Json& json, std::string_view key) {
  const Json& found = part_at(json, key);
  if (!found.is_number()) return 0.0;
  const auto number = found.get<double>();
  return std::isfinite(number) ? number : 0.0;  // as JSON has it: null
}

std::int64_t whole_at(const Json& json, std::string_view key) {
  constexpr double kMost = 9e15;  // a double counts to there
  const double number = number_at(json, key);
  return std::abs(number) < kMost ? static_cast<std::int64_t>(number) : 0;
}

}  // namespace meshwright::reports
