// SPDX-License-Identifier: Apache-2.0
// A command line of the program: the one that was typed, and others to type next.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/records/origin.h"

namespace meshwright::app {

// What one command line said.
struct Answered {
  int exit_code = 0;
  std::string out, err;
};
// Answers words behind the program's name.
using Asks = std::function<Answered(const std::vector<std::string>& words)>;

// Command line of this call.
struct Call {
  std::vector<std::string> arguments;  // without the program's name
  Asks ask{};                          // the program itself, for a command that asks others

  // "meshwright plan --model ...", to be typed again.
  [[nodiscard]] std::string text() const;
  // text() read back, as a file has it.
  static Call of_text(const std::string& text);
  // `command` with those options of this call, and their values, that `keeps` takes by name
  // ("--model"). Positional words of this call are left out.
  [[nodiscard]] Call as(const std::string& command,
                        const std::function<bool(const std::string& option)>& keeps) const;
  // With more words behind.
  [[nodiscard]] Call with(const std::vector<std::string>& words) const;
  // Origin of the files that this call writes. Inputs are added as they are read.
  [[nodiscard]] reports::Origin origin() const;
};

// "next: " and the call, which can be pasted into a shell.
void say_next(const Call& call);

}  // namespace meshwright::app
