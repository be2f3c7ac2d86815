// SPDX-License-Identifier: Apache-2.0
// Slurm's header in a script: "#SBATCH --nodes=48".
#pragma once

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// Reads a comment that may be of the header. The node count becomes a variable too.
void read_shell_header(const MarkedText& comment, ShellState& state);

}  // namespace meshwright::interop
