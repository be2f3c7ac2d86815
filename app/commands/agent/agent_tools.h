// SPDX-License-Identifier: Apache-2.0
// Commands as tools of an agent. An argument is an option's name without its dashes,
// "global_batch_size" for --global-batch-size; its value may be text, a number, true, or a list.
#pragma once

#include <string>
#include <vector>

#include "app/commands/catalog/reference_text.h"
#include "app/console/call.h"
#include "sim/record/json.h"

namespace meshwright::app {

// [{"name", "description", "inputSchema"}] of tools/list, from the program's own help.
Json agent_tools(const CommandText& program);

// The result of tools/call: {"content": [{"type": "text", "text"}], "isError", "_meta":
// {"exit_code", "command"}}. The text has 8 kB at most unless the argument
// "whole" is true; with "json_pointer" it is that part of the command's JSON. Throws InputError: no
// such tool, an argument that it does not have, or a value of another kind.
Json call_tool(const CommandText& program, const std::string& name, const Json& arguments,
               const Asks& ask);

}  // namespace meshwright::app
