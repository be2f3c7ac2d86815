// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_script.h"

#include <utility>

#include "interop/shell/shell_reader.h"
#include "interop/shell/shell_state.h"

namespace meshwright::interop {
namespace {

MarkedText given_text(const std::string& value) {
  MarkedText given;
  for (const char c : value) given.add(c, 0);
  return given;
}

}  // namespace

ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const ShellInputs& inputs) {
  ShellState state;
  state.file = file;
  state.read = inputs.read;
  for (const auto& [name, value] : inputs.variables) {
    state.variables[name] = {{given_text(value)}};
    state.given.insert(name);
  }
  if (inputs.arguments) {
    state.arguments.given.emplace();
    for (const std::string& word : *inputs.arguments) {
      state.arguments.given->push_back(given_text(word));
    }
  }
  const MarkedText marked(text);
  state.count(marked.size(), 1);
  read_shell_commands(marked, state, 0);
  return std::move(state.script);
}

ShellScript read_shell_script(std::string_view text, const std::string& file,
                              const std::map<std::string, std::string>& variables) {
  ShellInputs inputs;
  inputs.variables = variables;
  return read_shell_script(text, file, inputs);
}

}  // namespace meshwright::interop
