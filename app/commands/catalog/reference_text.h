// SPDX-License-Identifier: Apache-2.0
// The command line in other forms than --help, from the same source: a page, a manual page, and
// completions for shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace meshwright::app {

struct OptionText {
  std::vector<std::string> names;  // with their dashes, short ones first
  std::string value;               // the kind of value; empty: a switch
  std::string help;
  bool required = false;
};
struct CommandText {
  std::string name;  // "model list"
  std::string help;
  struct Group {
    std::string name;
    std::vector<OptionText> options;
  };
  std::vector<Group> groups;
  std::vector<CommandText> commands;  // below it
};

// `program` with all its commands, without the help options.
CommandText command_text(const CLI::App& program);

std::string reference_markdown(const CommandText& program);
// Every rule that a layout must meet, a section each (docs/reference/rules.md).
std::string rules_markdown();
std::string reference_man(const CommandText& program, const std::string& version);
std::string bash_completion(const CommandText& program);
std::string zsh_completion(const CommandText& program);

}  // namespace meshwright::app
