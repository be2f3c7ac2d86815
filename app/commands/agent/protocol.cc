// SPDX-License-Identifier: Apache-2.0
#include "app/commands/agent/protocol.h"

#include <algorithm>
#include <array>

#include "app/console/build.h"
#include "sim/base/error.h"

namespace meshwright::app {
namespace {

constexpr std::array<std::string_view, 4> kRevisions{"2025-11-25", "2025-06-18", "2025-03-26",
                                                     "2024-11-05"};

// JSON-RPC's codes.
enum Fault { kNoJson = -32700, kNoRequest = -32600, kNoMethod = -32601, kWrongParameters = -32602 };

// A text that was cut may end within a character.
std::string line_of(const Json& message) {
  return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}
std::string error_line(const Json& id, Fault fault, const std::string& what) {
  return line_of({{"jsonrpc", "2.0"},
                  {"id", id},
                  {"error", {{"code", static_cast<int>(fault)}, {"message", what}}}});
}
std::string result_line(const Json& id, const Json& result) {
  return line_of({{"jsonrpc", "2.0"}, {"id", id}, {"result", result}});
}

// A member that is text; empty where it is not.
std::string text_member(const Json& parameters, const char* key) {
  const Json value = parameters.value(key, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

// The client's revision where it is known here, else the newest.
Json initialized(const Json& parameters) {
  const std::string asked = text_member(parameters, "protocolVersion");
  const bool known = std::ranges::find(kRevisions, asked) != kRevisions.end();
  return {
      {"protocolVersion", known ? asked : std::string(kRevisions.front())},
      {"capabilities", {{"tools", Json::object()}}},
      {"serverInfo", {{"name", "meshwright"}, {"version", kVersion}}},
      {"instructions",
       "Plans distributed training and inference of transformers without running them. Every "
       "number is a prediction with an interval. Say how sure an answer is before the answer."}};
}

// {"name", "arguments"} of a call.
Json called(const CommandText& program, const Json& parameters, const Asks& ask) {
  const std::string name = text_member(parameters, "name");
  const Json arguments = parameters.value("arguments", Json::object());
  try {
    return call_tool(program, name, arguments, ask);
  } catch (const InputError& e) {
    const std::string hint = e.hint().empty() ? "" : "\n  hint: " + e.hint();
    return {{"content", Json::array({{{"type", "text"}, {"text", e.what() + hint}}})},
            {"isError", true}};
  }
}

}  // namespace

std::optional<std::string> protocol_answer(const CommandText& program, const std::string& line,
                                           const Asks& ask) {
  const Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) return error_line(nullptr, kNoJson, "the line is no JSON");
  if (!message.is_object() || message.value("jsonrpc", Json()) != "2.0") {
    return error_line(nullptr, kNoRequest, "the message is no object of JSON-RPC 2.0");
  }
  const Json id = message.value("id", Json());
  const Json method = message.value("method", Json());
  if (id.is_null() || !method.is_string()) return std::nullopt;
  const Json parameters = message.value("params", Json::object());
  if (!parameters.is_object()) return error_line(id, kWrongParameters, "params is no object");
  if (method == "initialize") return result_line(id, initialized(parameters));
  if (method == "ping") return result_line(id, Json::object());
  if (method == "tools/list") return result_line(id, {{"tools", agent_tools(program)}});
  if (method == "tools/call") return result_line(id, called(program, parameters, ask));
  return error_line(id, kNoMethod, "this server has tools alone");
}

}  // namespace meshwright::app
