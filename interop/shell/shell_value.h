// SPDX-License-Identifier: Apache-2.0
// Values that an expansion gives: those of variables and arguments, and unknown ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

struct ShellExpansion {
  std::vector<MarkedText> words;
  bool array = false;  // "${A[@]}": as many words in quotes, too
};

ShellExpansion unknown_value(std::string_view typed, int line);
ShellExpansion plain_value(std::string_view text, int line);

// The words of a variable or of arguments. Nothing: they are unknown, and script.why_unknown says
// why.
std::optional<std::vector<MarkedText>> find_value(const std::string& name, ShellState& state,
                                                  int line);
// The same as an expansion, which counts as text; an unknown value stays as typed.
ShellExpansion value_of(const std::string& name, const std::string& typed, bool array,
                        ShellState& state, int line);
// A variable was not set by the script, so far as is known.
bool is_unset(const std::string& name, ShellState& state);

}  // namespace meshwright::interop
