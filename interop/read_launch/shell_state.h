// SPDX-License-Identifier: Apache-2.0
// What all levels of one script share while it is read: variables, blocks that are open, and how
// much text has come of it.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "interop/read_launch/shell_script.h"
#include "sim/base/error.h"

namespace meshwright::interop {

struct ShellVariable {
  std::vector<MarkedText> words;  // an array's; one of a plain variable
};

struct ShellState {
  std::string file;
  ShellScript script;
  std::map<std::string, ShellVariable> variables;
  std::set<std::string> given;  // by the user, beside the script
  int conditions = 0;           // blocks that are open
  std::size_t text = 0;

  static constexpr std::size_t kMostText = 4U << 20U;
  static constexpr int kDeepest = 20;

  [[noreturn]] void fail(int line, const std::string& what, const std::string& hint = "") const {
    throw InputError(fmt::format("{}:{}", file, line), "", what, hint);
  }
  void count(std::size_t characters, int line) {
    text += characters;
    if (text > kMostText) fail(line, "the script's variables expand to more than 4 MiB");
  }
  void check_depth(int depth, int line) const {
    if (depth > kDeepest) fail(line, "commands are nested more than 20 deep");
  }
};

}  // namespace meshwright::interop
