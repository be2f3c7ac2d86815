// SPDX-License-Identifier: Apache-2.0
// Words of a command: plain text, quotes and what expands, put together.
#pragma once

#include <vector>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// One word at the cursor, which expansions without quotes may make several of, or none. Without
// `splits`, as behind an assignment, it stays one.
std::vector<MarkedText> read_shell_word(ShellCursor& cursor, ShellState& state, int depth,
                                        bool splits = true);
// One word as a pattern: what quotes make plain has a backslash before it, if it is special.
MarkedText read_shell_pattern(ShellCursor& cursor, ShellState& state, int depth);
// The text of a pattern without these backslashes.
MarkedText without_escapes(const MarkedText& pattern);
// The word in ${NAME:-word}, which may hold blanks; `quoted`: the braces stand in double quotes.
MarkedText read_operand(const MarkedText& typed, ShellState& state, int depth, bool pattern,
                        bool quoted);
// The words of (a b "c d"), at its bracket, lines and comments between.
std::vector<MarkedText> read_shell_array(ShellCursor& cursor, ShellState& state, int depth);

}  // namespace meshwright::interop
