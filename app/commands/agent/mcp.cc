// SPDX-License-Identifier: Apache-2.0
// meshwright mcp: the commands that answer questions, as tools of an agent.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "app/commands/agent/protocol.h"
#include "app/commands/commands.h"
#include "app/console/exit_code.h"
#include "app/console/terminal.h"
#include "app/options/command.h"

namespace meshwright::app {
void add_mcp(Commands& commands) {
  Command& command =
      commands.add("mcp", "Answer an agent on standard input and output (Model Context Protocol)");
  command.runs([&options = command.options()](const Call& call) {
    const CommandText program = command_text(*options.get_parent());
    for (std::string line; std::getline(std::cin, line);) {
      if (line.empty()) continue;
      const std::optional<std::string> answer = protocol_answer(program, line, call.ask);
      if (!answer) continue;
      print_text(*answer + "\n");
      if (flush_standard_output() != 0) break;
    }
    return kDone;
  });
}

}  // namespace meshwright::app
