// SPDX-License-Identifier: Apache-2.0
// The options of a launch command where they stand in its script, and changes of them there. What
// is not changed keeps every byte: comments, variables, substitutions, other commands.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "interop/shell/shell_script.h"

namespace meshwright::interop {

// "--tensor-model-parallel-size 8", "--tp=8" or "model.tp=8". It is not in the text if a sourced
// file or a variable holds its name.
struct TypedOption {
  std::string name;                // as typed, up to "="
  std::vector<std::string> words;  // values, variables put in
  std::size_t index = 0;           // of its first word in the command
  std::size_t begin = 0, end = 0;  // in the text; equal: not there
  std::size_t value = 0;           // where its values begin; `end`: it has none
  [[nodiscard]] bool is_there() const { return begin < end; }
  [[nodiscard]] bool is_override() const { return !name.starts_with("-"); }
};

class CommandEdit {
 public:
  CommandEdit(std::string text, const ShellCommand& command);

  [[nodiscard]] const std::vector<TypedOption>& options() const { return options_; }
  void set(const TypedOption& option, const std::string& value);
  void rename(const TypedOption& option, const std::string& name);
  void remove(const TypedOption& option);
  // Adds "--name value" behind an option, in the way in which the script breaks its lines.
  void add_behind(const TypedOption& option, const std::string& words);
  // The text with all changes.
  [[nodiscard]] std::string text() const;

 private:
  struct Replacement {
    std::size_t begin, end;
    std::string text;
  };
  std::string text_;
  std::vector<TypedOption> options_;
  std::vector<Replacement> replacements_;
};

// The value as words of a shell.
std::string shell_words(const std::string& value);

}  // namespace meshwright::interop
