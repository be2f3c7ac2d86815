// SPDX-License-Identifier: Apache-2.0
// The commands of a script one after the other: their words, assignments and redirections, and the
// blocks that they stand in.
#pragma once

#include "interop/shell/shell_flow.h"

namespace meshwright::interop {

// Reads a script, a sourced file, or the text that eval or `bash -c` runs.
void read_shell_commands(const MarkedText& text, ShellState& state, int depth);

// Takes in a command that was read, and gives its result. `typed` is the command as it stands.
ShellResult take_shell_command(ShellCommand command, const MarkedText& typed, ShellState& state,
                               int depth);

}  // namespace meshwright::interop
