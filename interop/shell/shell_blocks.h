// SPDX-License-Identifier: Apache-2.0
// Reserved words of a script, and what belongs to them: if, for, while, case with its patterns,
// groups and functions.
#pragma once

#include <string>

#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_flow.h"

namespace meshwright::interop {

class ShellBlocks {
 public:
  ShellBlocks(ShellCursor& cursor, ShellFlow& flow, ShellState& state, int depth)
      : c_(cursor), flow_(flow), s_(state), depth_(depth) {}

  // Tells whether a reserved word stands at the cursor, which is then behind it.
  bool read_reserved();
  // At the "()" behind a name: the next block is the function's body.
  bool read_function_head(const std::string& name);
  // A word came in its place.
  void forget_function() { has_function_ = false; }
  // "(" of a subshell.
  void open_bracket();
  // Where a clause of case begins: its patterns, or esac.
  void read_patterns();
  // At ;; or ;&
  void end_clause();

 private:
  [[nodiscard]] std::string plain_word() const;
  bool open_block(const std::string& word);
  bool close_block(const std::string& word);
  void open_group(ShellFlow::Kind kind);
  void read_loop(const std::string& word);
  void read_loop_variable(int line);
  void read_case();
  void read_function();
  bool skip_brackets();
  void skip_to_pattern();

  ShellCursor& c_;
  ShellFlow& flow_;
  ShellState& s_;
  int depth_;
  bool has_function_ = false;
  ShellCausePtr function_;  // why its body may not run
};

}  // namespace meshwright::interop
