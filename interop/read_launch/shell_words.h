// SPDX-License-Identifier: Apache-2.0
// Words of a command: plain text, quotes and what expands, put together.
#pragma once

#include <vector>

#include "interop/read_launch/shell_cursor.h"
#include "interop/read_launch/shell_state.h"

namespace meshwright::interop {

// One word at the cursor, which expansions without quotes may make several of, or none. Without
// `splits`, as behind an assignment, it stays one.
std::vector<MarkedText> read_shell_word(ShellCursor& cursor, ShellState& state, int depth,
                                        bool splits = true);
// The words of (a b "c d"), at its bracket, lines and comments between.
std::vector<MarkedText> read_shell_array(ShellCursor& cursor, ShellState& state, int depth);

}  // namespace meshwright::interop
