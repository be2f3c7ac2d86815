// SPDX-License-Identifier: Apache-2.0
// A for loop over known words, whose body sets variables: it is read once for each word.
#pragma once

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Behind "for". Returns false, and the cursor is where it was: the words are not known, the body
// starts a program, which runs with several values, or the body may leave the loop.
bool read_for_loop(ShellCursor& cursor, ShellState& state, int depth);

}  // namespace meshwright::interop
