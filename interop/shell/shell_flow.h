// SPDX-License-Identifier: Apache-2.0
// Control flow of a script: which code is live, conditional or dead. It follows from the results of
// conditions in if and case, and of the commands before && and ||.
#pragma once

#include <array>
#include <deque>
#include <memory>

#include "interop/shell/shell_state.h"

namespace meshwright::interop {

enum class ShellStatus {
  yes,
  no,
  unknown,
  assumed  // an ordinary command: && goes on, || and if are undecided
};

struct ShellResult {
  ShellStatus status = ShellStatus::unknown;
  ShellCausePtr cause;  // of unknown and assumed
};

class ShellFlow {
 public:
  enum class Kind { file, choice, pattern, loop, brace, bracket };

  // Keeps `now`, the context of the code at the cursor, up to date; restores it at the end.
  explicit ShellFlow(ShellContext& now);
  ~ShellFlow();
  ShellFlow(const ShellFlow&) = delete;
  ShellFlow& operator=(const ShellFlow&) = delete;

  // A pipeline ended. `!` before it reverses its result.
  void end_command(ShellResult result);
  void negate();
  // && or ||
  void join(bool needs_success);

  void open(Kind kind);
  void open_loop(const ShellCausePtr& cause, bool may_shift);
  // Without a cause the body counts as live.
  void open_function(Kind kind, const ShellCausePtr& cause);
  void open_case(MarkedText word, ShellCausePtr cause);
  // Closes the innermost block of this kind and all in it; none: does nothing.
  void close(Kind kind);

  void then();
  void elif ();
  void otherwise();
  // A clause of case, by whether its pattern matches; its end.
  void clause(ShellStatus matches);
  void end_clause(bool falls_through);

  [[nodiscard]] bool in_condition() const { return blocks_.back().condition; }
  [[nodiscard]] bool negated() const { return blocks_.back().negated; }
  [[nodiscard]] bool awaits_pattern() const { return blocks_.back().awaits_pattern; }
  // The present case reads on without patterns: one is not understood.
  void give_up_patterns();
  [[nodiscard]] const MarkedText& case_word() const { return *blocks_.back().word; }
  [[nodiscard]] bool in_case() const { return open_[index(Kind::pattern)] > 0; }

 private:
  enum class Join { none, both, either };
  struct Block {
    Kind kind = Kind::file;
    Join join = Join::none;
    bool negated = false, taken = false, undecided = false;
    bool condition = false, awaits_pattern = false;
    bool falls_through = false;  // a clause before runs on into the next
    ShellContext base, inner;    // around the block, and of its present code
    ShellResult left;            // of the command before
    ShellCausePtr cause;         // of the first undecided branch, or of a case's word
    std::shared_ptr<const MarkedText> word;
  };
  static std::size_t index(Kind kind) { return static_cast<std::size_t>(kind); }
  void push(Block block);
  void pop_to(Kind kind);
  void enter(ShellContext context);
  void branch(const ShellResult& result);
  static ShellContext remaining(const Block& block);

  ShellContext& now_;
  std::deque<Block> blocks_;
  std::array<std::size_t, 6> open_{};
};

}  // namespace meshwright::interop
