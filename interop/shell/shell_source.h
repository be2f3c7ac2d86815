// SPDX-License-Identifier: Apache-2.0
// `source FILE`, and a script that a command starts: the file is read as a part of the script.
#pragma once

#include <cstddef>
#include <vector>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

// `words` are those of the command. All of the file's text has the command's line. A file that
// cannot be read goes to script.not_sourced; one that sources itself is read once.
void read_sourced_file(const std::vector<MarkedText>& words, ShellState& state, int depth);

// The script words[at], with the words behind it as its arguments. Returns false if it is not
// there.
bool read_started_script(const std::vector<MarkedText>& words, std::size_t at, ShellState& state,
                         int depth);

}  // namespace meshwright::interop
