// SPDX-License-Identifier: Apache-2.0
// Redirections of a command, and the here-documents that follow its line.
#pragma once

#include <string>
#include <vector>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {

class ShellRedirections {
 public:
  ShellRedirections(ShellCursor& cursor, ShellState& state, int depth)
      : c_(cursor), s_(state), depth_(depth) {}

  // At < or >.
  void read();
  // Behind the end of a line.
  void read_here_documents();

 private:
  struct Waiting {
    std::string delimiter;
    bool plain = false, dedent = false, dead = false;
  };
  void read_delimiter();
  MarkedText read_body(const Waiting& waiting);

  ShellCursor& c_;
  ShellState& s_;
  int depth_;
  std::vector<Waiting> waiting_;
  MarkedText written_to_;
};

}  // namespace meshwright::interop
