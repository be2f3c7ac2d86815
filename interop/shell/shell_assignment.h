// SPDX-License-Identifier: Apache-2.0
// NAME=value, NAME+=value, NAME=(a b), NAME[1]=x: what of a variable is known afterwards.
#pragma once

#include <string_view>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// export, declare, local, readonly, typeset: assignments follow.
bool is_declaration(std::string_view word);

// Tells whether an assignment stands at the cursor, which is then behind it. `exported`: by the
// command that it follows.
bool read_shell_assignment(ShellCursor& cursor, ShellState& state, int depth, bool exported);

}  // namespace meshwright::interop
