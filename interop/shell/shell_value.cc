// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_value.h"

#include <utility>

#include "interop/shell/shell_arguments.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr const char* kNotSet = "the file does not set it";

// $1 as it counts without `shift`.
std::string renumbered(const std::string& name, const std::string& typed, const ShellState& state) {
  const std::string original = original_argument(name, state);
  return original == name ? typed : replaced(typed, name, original);
}

}  // namespace

ShellExpansion unknown_value(std::string_view typed, int line) {
  MarkedText value;
  value.add_unknown(typed, line);
  return {{value}};
}

ShellExpansion plain_value(std::string_view text, int line) {
  MarkedText value;
  for (const char c : text) value.add(c, line);
  return {{value}};
}

std::optional<std::vector<MarkedText>> find_value(const std::string& name, ShellState& state,
                                                  int line) {
  if (state.dead()) return std::nullopt;
  if (is_argument_name(name)) return find_argument(name, state, line);
  const auto found = state.variables.find(name);
  if (found == state.variables.end()) {
    state.script.why_unknown.try_emplace(name, kNotSet);
    return std::nullopt;
  }
  std::size_t size = 1;
  for (const MarkedText& word : found->second.words) size += word.size();
  if (!state.affords(size)) return std::nullopt;
  return found->second.words;
}

ShellExpansion value_of(const std::string& name, const std::string& typed, bool array,
                        ShellState& state, int line) {
  auto words = find_value(name, state, line);
  if (!words) {
    return unknown_value(is_argument_name(name) ? renumbered(name, typed, state) : typed, line);
  }
  std::size_t size = 0;
  for (const MarkedText& word : *words) size += word.size();
  state.count(size, line);
  return {std::move(*words), array};
}

bool is_unset(const std::string& name, ShellState& state) {
  if (is_argument_name(name)) {
    const auto words = find_argument(name, state, 1);
    return !words || words->empty();
  }
  const auto why = state.script.why_unknown.find(name);
  return !state.variables.contains(name) &&
         (why == state.script.why_unknown.end() || why->second == kNotSet);
}

}  // namespace meshwright::interop
