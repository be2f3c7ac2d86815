// SPDX-License-Identifier: Apache-2.0
// Replaces $NAME, ${NAME:-8}, $((1 + 2)), "${A[@]}" and `...` by their values. An unknown value
// stays as it was typed, and is marked.
#pragma once

#include <cstdint>
#include <optional>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_value.h"

namespace meshwright::interop {

// At a dollar or a back quote, which it passes with all that belongs to it.
ShellExpansion read_expansion(ShellCursor& cursor, ShellState& state, int depth, bool quoted);
// Double-quoted text, as of a here-document.
MarkedText expanded_text(const MarkedText& text, ShellState& state, int depth);
// The value of arithmetic, or nothing if it is unknown.
std::optional<std::int64_t> arithmetic_of(const MarkedText& typed, ShellState& state, int depth);
// The words one behind the other, a blank between.
void join_expansion(MarkedText& out, const ShellExpansion& value);

}  // namespace meshwright::interop
