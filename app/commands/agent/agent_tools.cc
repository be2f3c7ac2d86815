// SPDX-License-Identifier: Apache-2.0
#include "app/commands/agent/agent_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/console/exit_code.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/record/reader.h"

namespace meshwright::app {
namespace {

constexpr std::size_t kMostText = 8000;  // bytes of an answer

// A tool's options are those that a first question needs; "options" takes all others.
struct AgentTool {
  const char* name;
  const char* command;
  const char* description;
  std::vector<const char*> options;
};

const std::vector<AgentTool>& all_tools() {
  static const std::vector<AgentTool> tools{
      {"plan",
       "plan",
       "Choose the parallel layout of a training job before it runs: the fastest layouts that fit, "
       "how sure the choice is, and what would change it.",
       {"model", "cluster", "gpus", "seq_length", "global_batch_size", "precision", "framework",
        "lora", "train_tokens", "target", "top", "launch_out", "longest_sequence", "find_gpus"}},
      {"estimate",
       "estimate",
       "Time, memory and communication volume of one layout of a training job.",
       {"model", "cluster", "layout", "gpus", "seq_length", "global_batch_size", "precision",
        "framework"}},
      {"review",
       "review",
       "Judge a launch file of a training job or an inference service: does it fit, does it start, "
       "how long does a step take, which layout is faster.",
       {"from", "cluster", "model", "gpus", "log", "set", "seq_length", "isl", "osl", "concurrency",
        "rate", "ttft", "tpot", "top", "launch_out"}},
      {"serve",
       "serve",
       "The smallest deployment of an inference engine that meets a load and latencies, with its "
       "launch.",
       {"model", "cluster", "engine", "isl", "osl", "concurrency", "rate", "ttft", "tpot", "gpus",
        "weights", "mode", "percentile", "find_gpus"}},
      {"capacity",
       "capacity",
       "Compare clusters and GPU counts for a whole training: days, cost, energy, failures.",
       {"model", "cluster", "gpus", "train_tokens", "global_batch_size", "seq_length", "prices",
        "deadline", "budget"}},
      {"explain",
       "explain",
       "Why a layout is rejected or slower, from a plan that was written, or what a rule requires.",
       {"subject", "layout", "versus"}},
      {"models", "model list", "Names of the shipped models.", {}},
      {"clusters", "cluster list", "Names of the shipped clusters.", {}}};
  return tools;
}

const AgentTool& tool_named(const std::string& name) {
  std::vector<std::string> names;
  for (const AgentTool& tool : all_tools()) {
    if (tool.name == name) return tool;
    names.emplace_back(tool.name);
  }
  throw InputError(fmt::format("no tool \"{}\"; expected one of {}", name, fmt::join(names, ", ")),
                   did_you_mean(name, names));
}

const CommandText& command_of(const CommandText& program, const AgentTool& tool) {
  const CommandText* found = &program;
  for (const CommandText& command : program.commands) {
    if (command.name == tool.command) return command;
    for (const CommandText& below : command.commands) {
      if (below.name == tool.command) found = &below;
    }
  }
  return *found;
}

// "--global-batch-size" as "global_batch_size".
std::string key_of(const OptionText& option) {
  std::string key = option.names.back();
  key.erase(0, std::min(key.find_first_not_of('-'), key.size()));
  std::ranges::replace(key, '-', '_');
  return key;
}

const OptionText* option_of(const CommandText& command, const std::string& key) {
  for (const CommandText::Group& group : command.groups) {
    for (const OptionText& option : group.options) {
      if (key_of(option) == key) return &option;
    }
  }
  return nullptr;
}

Json schema_of(const OptionText& option) {
  if (option.value.empty()) return {{"type", "boolean"}, {"description", option.help}};
  return {{"type", {"string", "number", "array"}},
          {"description", fmt::format("{} ({})", option.help, option.value)}};
}

Json input_schema(const CommandText& command, const AgentTool& tool) {
  Json properties = Json::object();
  Json required = Json::array();
  for (const char* key : tool.options) {
    const OptionText* option = option_of(command, key);
    if (option == nullptr) continue;
    properties[key] = schema_of(*option);
    if (option->required) required.push_back(key);
  }
  properties["options"] = {
      {"type", "array"},
      {"items", {{"type", "string"}}},
      {"description", fmt::format("Other words of the command line, as `meshwright {} --help` has "
                                  "them",
                                  tool.command)}};
  properties["json_pointer"] = {
      {"type", "string"},
      {"description",
       "Answer with this part of the command's JSON (RFC 6901), for example \"/ranked/0\"; \"\" "
       "lists the keys"}};
  properties["whole"] = {{"type", "boolean"},
                         {"description", "Do not cut the answer at 8 kB. Default: false"}};
  return {{"type", "object"}, {"properties", properties}, {"required", required}};
}

std::string text_of(const std::string& key, const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw InputError("arguments", "/" + pointer_token(key),
                   fmt::format("is text, a number, true or a list (got {})", value.dump()));
}

// The words of one argument.
void append_words(const OptionText& option, const std::string& key, const Json& value,
                  std::vector<std::string>& words) {
  const std::string& name = option.names.back();
  if (option.value.empty()) {
    if (!value.is_boolean()) {
      throw InputError("arguments", "/" + pointer_token(key),
                       fmt::format("is true or false (got {})", value.dump()));
    }
    if (value.get<bool>()) words.push_back(name);
    return;
  }
  std::vector<std::string> texts;
  for (const Json& item : value.is_array() ? value : Json::array({value})) {
    texts.push_back(text_of(key, item));
  }
  const bool positional = !name.starts_with('-');
  if (positional) {
    words.insert(words.end(), texts.begin(), texts.end());
  } else if (contains(option.value, ",...")) {
    words.push_back(fmt::format("{}={}", name, fmt::join(texts, ",")));
  } else {
    for (const std::string& text : texts) words.push_back(fmt::format("{}={}", name, text));
  }
}

struct Wanted {
  std::vector<std::string> words;
  std::optional<std::string> pointer;
  bool whole = false;
};

Wanted wanted_by(const CommandText& command, const AgentTool& tool, const Json& arguments) {
  if (!arguments.is_object()) throw InputError("arguments", "", "is no object");
  Wanted wanted{split_words(tool.command), {}, false};
  for (const auto& [key, value] : arguments.items()) {
    if (key == "json_pointer") {
      wanted.pointer = text_of(key, value);
    } else if (key == "whole") {
      wanted.whole = value.is_boolean() && value.get<bool>();
    } else if (key == "options") {
      for (const Json& word : value) wanted.words.push_back(text_of(key, word));
    } else if (const OptionText* option = option_of(command, key)) {
      append_words(*option, key, value, wanted.words);
    } else {
      std::vector<std::string> known(tool.options.begin(), tool.options.end());
      throw InputError("arguments", "/" + pointer_token(key),
                       fmt::format("is no argument of {}", tool.name), did_you_mean(key, known));
    }
  }
  if (wanted.pointer) wanted.words.emplace_back("--format=json");
  return wanted;
}

// Keys of an object and sizes of what they hold, so that the next pointer can be chosen.
std::string keys_in(const Json& json) {
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += fmt::format("/{}: {} bytes\n", pointer_token(key), value.dump().size());
  }
  return text;
}

// The part of the JSON, or the keys of one that is too large.
std::string part_of(const std::string& document, const std::string& pointer, bool whole) {
  const Json json = Json::parse(document);
  if (pointer.empty()) return keys_in(json);
  if (!pointer.starts_with('/')) {
    throw InputError("arguments", "/json_pointer",
                     fmt::format("begins with / or is empty (got \"{}\")", pointer));
  }
  const Json* part = nullptr;
  try {
    part = &json.at(Json::json_pointer(pointer));
  } catch (const Json::exception&) {
    throw InputError(
        "arguments", "/json_pointer",
        fmt::format("leads to nothing (got \"{}\"); the keys are\n{}", pointer, keys_in(json)));
  }
  std::string text = part->dump(1);
  if (whole || text.size() <= kMostText) return text;
  return fmt::format("{} bytes; ask for a part, or with \"whole\": true:\n{}", text.size(),
                     keys_in(*part));
}

// Cuts at the end of a line.
std::string bounded(std::string text) {
  if (text.size() <= kMostText) return text;
  const std::size_t end = text.rfind('\n', kMostText - 100);
  text.resize(end == std::string::npos ? kMostText - 100 : end);
  return text + "\n(cut at 8 kB; \"whole\": true gives all, \"json_pointer\" a part)\n";
}

}  // namespace

Json agent_tools(const CommandText& program) {
  Json tools = Json::array();
  for (const AgentTool& tool : all_tools()) {
    tools.push_back({{"name", tool.name},
                     {"description", tool.description},
                     {"inputSchema", input_schema(command_of(program, tool), tool)}});
  }
  return tools;
}

Json call_tool(const CommandText& program, const std::string& name, const Json& arguments,
               const Asks& ask) {
  const AgentTool& tool = tool_named(name);
  const Wanted wanted = wanted_by(command_of(program, tool), tool, arguments);
  const Answered answered = ask(wanted.words);
  const bool failed = answered.exit_code != kDone && answered.exit_code != kGateFailed;
  std::string text = answered.out;
  if (wanted.pointer && !failed) text = part_of(text, *wanted.pointer, wanted.whole);
  if (!answered.err.empty()) text += (text.empty() ? "" : "\n") + answered.err;
  if (!wanted.whole) text = bounded(std::move(text));
  return {{"content", Json::array({{{"type", "text"}, {"text", text}}})},
          {"isError", failed},
          {"_meta", {{"exit_code", answered.exit_code}, {"command", Call{wanted.words}.text()}}}};
}

}  // namespace meshwright::app
