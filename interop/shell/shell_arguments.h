// SPDX-License-Identifier: Apache-2.0
// Positional parameters of a script: $1, $@, $#, shift and `set --`.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Tells whether a name is that of positional parameters: digits, @, * or #.
bool is_argument_name(const std::string& name);

// The words that $1, $@ or $# stands for. Nothing: they are unknown, and script.why_unknown says
// why. An argument behind the last one that was given has no word.
std::optional<std::vector<MarkedText>> find_argument(const std::string& name, ShellState& state,
                                                     int line);
// The number of an argument before any shift.
std::string original_argument(const std::string& name, const ShellState& state);
// Why the script's arguments do not say what $1 is here. Empty: they do, if they are given.
std::string why_own_argument(const ShellState& state);

// shift [n]; set -- words.
void shift_arguments(ShellState& state, const std::vector<MarkedText>& words);
void set_arguments(ShellState& state, const std::vector<MarkedText>& words);

// Exchanges the arguments while a sourced file or `bash -c` is read. Nothing: they are unknown.
class OtherArguments {
 public:
  OtherArguments(ShellState& state, std::optional<std::vector<MarkedText>> given,
                 const std::string& why_unknown);
  ~OtherArguments() { state_.arguments = std::move(kept_); }
  OtherArguments(const OtherArguments&) = delete;
  OtherArguments& operator=(const OtherArguments&) = delete;

 private:
  ShellState& state_;
  ShellArguments kept_;
};

}  // namespace meshwright::interop
