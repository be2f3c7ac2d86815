// SPDX-License-Identifier: Apache-2.0
// What $NAME, ${NAME:-8}, $((1 + 2)), "${A[@]}" and `...` stand for. What is not known stays as it
// was typed, marked.
#pragma once

#include <vector>

#include "interop/read_launch/shell_cursor.h"
#include "interop/read_launch/shell_state.h"

namespace meshwright::interop {

struct ShellExpansion {
  std::vector<MarkedText> words;
  bool array = false;  // "${A[@]}": as many words in quotes, too
};

// At a dollar or a back quote, which it passes with all that belongs to it.
ShellExpansion read_expansion(ShellCursor& cursor, ShellState& state, int depth, bool quoted);
// Double-quoted text, as of a here-document.
MarkedText expanded_text(const MarkedText& text, ShellState& state, int depth);
// The words one behind the other, a blank between.
void join_expansion(MarkedText& out, const ShellExpansion& value);

}  // namespace meshwright::interop
