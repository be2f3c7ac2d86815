// SPDX-License-Identifier: Apache-2.0
// State that all levels of one script share while it is read: variables, arguments, the conditions
// that the present code stands under, and the amount of text so far.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "interop/shell/shell_script.h"
#include "sim/base/error.h"

namespace meshwright::interop {

// The line of characters that stand for the value of the variable that is being assigned.
constexpr int kOwnLine = std::numeric_limits<int>::max();
inline bool is_own_value(const MarkedText& text, std::size_t i) {
  return i < text.size() && text.line_at(i) == kOwnLine;
}

struct ShellVariable {
  std::vector<MarkedText> words;  // an array's; one of a plain variable
};

enum class ShellMode {
  live,         // the code runs
  conditional,  // whether it runs is unknown
  dead          // it does not run: it is parsed, and nothing comes of it
};

// Why a condition is undecided.
struct ShellCause {
  std::string subject;  // "MODEL_SIZE"; empty: a loop or a function
  std::string reason;   // "MODEL_SIZE: it is the script's argument 2, line 4"
};
using ShellCausePtr = std::shared_ptr<const ShellCause>;

struct ShellContext {
  ShellMode mode = ShellMode::live;
  ShellCausePtr cause;  // of conditional code
  // The code may run several times, or later: values known here do not decide its conditions.
  bool repeats = false;
  bool in_function = false;  // $1 is the function's
  bool in_while = false;     // which may shift the arguments
};

struct ShellArguments {
  std::optional<std::vector<MarkedText>> given;  // without those that were shifted away
  std::size_t shifted = 0;
  std::string lost;  // why $1 is no longer known
};

struct ShellState {
  std::string file;
  ShellScript script;
  ReadNamedFile read;
  std::map<std::string, ShellVariable> variables;
  std::set<std::string> given;                  // by the user, next to the script
  std::map<std::string, ShellCausePtr> causes;  // of variables set under an undecided condition
  ShellArguments arguments;
  ShellContext context;
  std::vector<std::string> sourcing;  // files that are being read
  std::string extended;               // the variable that stands for its own value
  std::size_t text = 0, work = 0;

  static constexpr std::size_t kMostText = 4U << 20U;
  static constexpr std::size_t kMostWork = 64U << 20U;
  static constexpr int kDeepest = 20;

  [[nodiscard]] bool live() const { return context.mode == ShellMode::live; }
  [[nodiscard]] bool conditional() const { return context.mode == ShellMode::conditional; }
  [[nodiscard]] bool dead() const { return context.mode == ShellMode::dead; }

  [[noreturn]] void fail(int line, const std::string& what, const std::string& hint = "") const {
    throw InputError(fmt::format("{}:{}", file, line), "", what, hint);
  }
  void count(std::size_t characters, int line) {
    text += characters;
    if (text > kMostText) fail(line, "the script's variables expand to more than 4 MiB");
  }
  // Tells whether so many steps may still be spent on matching; what is not matched is unknown.
  bool affords(std::size_t steps) {
    if (steps > kMostWork - work) return false;
    work += steps;
    return true;
  }
  void check_depth(int depth, int line) const {
    if (depth > kDeepest) fail(line, "commands are nested more than 20 deep");
  }
};

}  // namespace meshwright::interop
