// SPDX-License-Identifier: Apache-2.0
// The Model Context Protocol (modelcontextprotocol.io, revisions 2024-11-05 to 2025-11-25) for a
// server that has tools and nothing else: JSON-RPC 2.0, a message a line.
#pragma once

#include <optional>
#include <string>

#include "app/commands/agent/agent_tools.h"

namespace meshwright::app {

// The line that answers one line; nothing for a notification or an answer of the client. Faults of
// the message become JSON-RPC errors; what a command refuses is a result with isError.
std::optional<std::string> protocol_answer(const CommandText& program, const std::string& line,
                                           const Asks& ask);

}  // namespace meshwright::app
