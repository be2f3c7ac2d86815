// SPDX-License-Identifier: Apache-2.0
// A for loop over known words, whose body sets variables, or starts servers in the background: it
// is read once for each word.
#pragma once

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Behind "for". Returns false, and the cursor is where it was: the words are not known, the body
// runs a program with several values one after the other, or may leave the loop.
bool read_for_loop(ShellCursor& cursor, ShellState& state, int depth);

}  // namespace meshwright::interop
