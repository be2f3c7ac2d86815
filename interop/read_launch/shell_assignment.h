// SPDX-License-Identifier: Apache-2.0
// NAME=value, NAME+=value, NAME=(a b), NAME[1]=x: what of a variable is known afterwards.
#pragma once

#include "interop/read_launch/shell_cursor.h"
#include "interop/read_launch/shell_state.h"

namespace meshwright::interop {

// Whether an assignment stands at the cursor, which is then behind it. `exported`: by the command
// that it follows.
bool read_shell_assignment(ShellCursor& cursor, ShellState& state, int depth, bool exported);

}  // namespace meshwright::interop
