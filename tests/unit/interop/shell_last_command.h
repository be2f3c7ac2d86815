// SPDX-License-Identifier: Apache-2.0
// The last command of a script, its words joined by blanks.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "interop/shell/shell_script.h"

namespace meshwright::interop {

inline std::string last_command(const ShellScript& script) {
  std::string text;
  for (const MarkedText& word : script.commands.back().words) {
    text += (text.empty() ? "" : " ") + word.text();
  }
  return text;
}

inline std::string last_command(const std::string& text, const ShellInputs& inputs = {}) {
  return last_command(read_shell_script(text, "train.sh", inputs));
}

inline ShellInputs with_arguments(std::vector<std::string> arguments) {
  ShellInputs inputs;
  inputs.arguments = std::move(arguments);
  return inputs;
}

}  // namespace meshwright::interop
