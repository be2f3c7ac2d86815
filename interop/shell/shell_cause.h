// SPDX-License-Identifier: Apache-2.0
// Explanations of unknown values and conditions: which variable, argument or command is in the way.
#pragma once

#include <string>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Why a variable's value is unknown: "it is the script's argument 2, line 4". Empty: it is known.
std::string why_unknown_variable(const std::string& name, const ShellState& state);

// Why a condition, as it was typed, is undecided. It names the first unknown variable in it; in
// arithmetic, names stand without a dollar too. Without one, `otherwise` says why.
ShellCausePtr cause_of_condition(const MarkedText& typed, const ShellState& state,
                                 const std::string& otherwise, bool arithmetic = false);

// "it is set under a condition on MODEL_SIZE, line 14 (MODEL_SIZE: it is ...)"
std::string set_under_condition(const ShellCausePtr& cause, int line);

// At most so many characters, on one line.
std::string shortened(const std::string& text);

}  // namespace meshwright::interop
