// SPDX-License-Identifier: Apache-2.0
// Expansions in braces: ${NAME}, ${A[0]}, ${#A[@]}, ${NAME:-word}, ${NAME%pattern}, ${NAME/a/b},
// ${NAME,,}.
#pragma once

#include "interop/shell/shell_value.h"

namespace meshwright::interop {

// `inside` is the text between the braces.
ShellExpansion read_braces(const MarkedText& inside, ShellState& state, int depth, bool quoted,
                           int line);

}  // namespace meshwright::interop
