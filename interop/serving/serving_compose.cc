// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "interop/serving/service_environment.h"
#include "interop/serving/serving_command.h"
#include "interop/serving/serving_container.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

using Variables = std::map<std::string, std::string>;

// A key of an anchor that is merged ("<<: *engine") counts where the service does not state it.
Values with_merged_keys(const Values& values) {
  Values merged;
  for (const Value& value : values.all()) {
    if (!contains(value.key, "<<.")) merged.add(value);
  }
  for (const Value& value : values.all()) {
    Value own = value;
    own.key = replaced(value.key, "<<.", "");
    if (own.key != value.key && !merged.has(own.key)) merged.add(std::move(own));
  }
  return merged;
}

// "$$" is compose's "$". The shell's reader puts the other variables in.
std::string unescaped(const std::string& text) { return replaced(text, "$$", "$"); }

// Variables inside double quotes are still put in.
std::string in_quotes(const std::string& word) {
  std::string quoted = "\"";
  for (const char c : unescaped(word)) {
    if (c == '"' || c == '\\' || c == '`') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += in_quotes(word) + " ";
  return text;
}

// A string is cut into words, whatever its lines; a list is taken word by word.
std::string shell_text(const Value& value, bool is_list) {
  if (is_list || value.words.size() != 1) return quoted_words(value.words);
  const std::string text = replaced(unescaped(value.words.front()), "\\\n", " ");
  return replaced(text, "\n", " ") + " ";
}

// The lines NAME=VALUE of the file .env, and over them what the user states.
Variables variables_of(const ShellInputs& inputs) {
  Variables variables;
  const auto text = inputs.read ? inputs.read(".env") : std::nullopt;
  for (const std::string& line : text ? split_lines(*text) : std::vector<std::string>()) {
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string::npos || equals == 0) continue;
    variables[line.substr(0, equals)] = replaced(line.substr(equals + 1), "\"", "");
  }
  for (const auto& [name, value] : inputs.variables) variables[name] = value;
  return variables;
}

class ComposeService {
 public:
  ComposeService(Values& values, const std::string& name, const std::string& file,
                 const ShellInputs& inputs)
      : values_(values), prefix_("services." + name + "."), name_(name), file_(file) {
    inputs_ = {variables_of(inputs), std::nullopt, inputs.read};
  }

  bool read(ServingLaunch& launch) {
    const std::string image = expanded(one_word(values_, prefix_ + "image"));
    const std::string text = command_text(image);
    const ShellScript script = read_shell_script(text, file_, inputs_);
    if (!starts_engine(script)) return false;
    const LaunchedPool base = pool();
    if (base.replicas == 0) return false;
    return read_engine_script({text, script, file_, inputs_.read, environment(launch), {}, image},
                              base, launch);
  }

 private:
  [[nodiscard]] std::string expanded(const std::string& text) const {
    const ShellScript script = read_shell_script("echo " + in_quotes(text), file_, inputs_);
    const bool known = !script.commands.empty() && script.commands.front().words.size() == 2 &&
                       !script.commands.front().words[1].unknown();
    return known ? script.commands.front().words[1].text() : text;
  }
  static bool starts_engine(const ShellScript& script) {
    return std::any_of(
        script.commands.begin(), script.commands.end(),
        [](const ShellCommand& command) { return engine_command(command).has_value(); });
  }
  // Entry point and command as one command line, on the command's line of the file. vLLM's image
  // starts the server itself.
  std::string command_text(const std::string& image) {
    const Value* command = values_.find(prefix_ + "command");
    const Value* entry = values_.find(prefix_ + "entrypoint");
    const Value* first = command != nullptr ? command : entry;
    std::string text(first == nullptr ? 0 : std::size_t(std::max(1, first->place.line) - 1), '\n');
    if (entry != nullptr && !entry->words.empty()) {
      text += shell_text(*entry, entry->words.size() > 1);
    } else if (is_nim(image)) {
      text += "docker run " + image + " nim-serve ";
    } else if (engine_of_image(image) == EngineKind::vllm) {
      text += "vllm serve ";
    }
    const bool is_script = entry != nullptr && entry->words.size() > 1 &&
                           entry->words.back().starts_with('-') &&
                           entry->words.back().ends_with('c');
    if (command != nullptr) text += shell_text(*command, is_script);
    return text + "\n";
  }
  LaunchedPool pool() {
    LaunchedPool pool;
    pool.role = role_in(lower_case(name_));
    for (const char* key : {"scale", "deploy.replicas"}) {
      const Value* replicas = values_.find(prefix_ + key);
      if (replicas != nullptr) pool.replicas = integer_of(*replicas, {0, 1'000'000});
    }
    pool.visible_gpus = gpus();
    return pool;
  }
  // Of the reserved devices; "all" and no statement are 0.
  int gpus() {
    int count = 0;
    for (int i = 0; i < 20; ++i) {
      const std::string device =
          fmt::format("{}deploy.resources.reservations.devices.{}.", prefix_, i);
      const Value* ids = values_.find(device + "device_ids");
      if (ids != nullptr) count += int(ids->words.size());
      const Value* stated = values_.find(device + "count");
      const bool is_number = stated != nullptr && stated->words.size() == 1 &&
                             stated->words.front() != "all" &&
                             !contains(stated->words.front(), "$");
      if (is_number) count += integer_of(*stated, {0, 100'000});
    }
    return count;
  }
  // A map, or a list of NAME=VALUE; and files of them.
  std::vector<Value> environment(ServingLaunch& launch) {
    std::vector<Value> variables;
    const std::string section = prefix_ + "environment";
    for (const Value& value : values_.all()) {
      if (value.key == section) {
        for (const std::string& word : value.words) {
          variables.push_back(assignment_of(expanded(word), value.place));
        }
      } else if (value.key.starts_with(section + ".") && value.words.size() == 1) {
        variables.push_back(assignment_of(
            value.key.substr(section.size() + 1) + "=" + expanded(value.words.front()),
            value.place));
      }
    }
    const Value* files = values_.find(prefix_ + "env_file");
    if (files == nullptr) return variables;
    for (const std::string& name : files->words) {
      const std::vector<Value> more = variables_of_file(
          name.starts_with("./") ? name.substr(2) : name, files->place, inputs_.read, launch);
      variables.insert(variables.end(), more.begin(), more.end());
    }
    return variables;
  }

  Values& values_;
  std::string prefix_, name_;
  const std::string& file_;
  ShellInputs inputs_;
};

std::set<std::string> service_names(const Values& values) {
  constexpr std::string_view kServices = "services.";
  std::set<std::string> names;
  for (const Value& value : values.all()) {
    if (!value.key.starts_with(kServices)) continue;
    const std::string rest = value.key.substr(kServices.size());
    names.insert(rest.substr(0, rest.find('.')));
  }
  return names;
}

}  // namespace

bool read_serving_compose(const Values& values, const std::string& file, const ShellInputs& inputs,
                          ServingLaunch& launch) {
  Values merged = with_merged_keys(values);
  bool found = false;
  for (const std::string& name : service_names(merged)) {
    found |= ComposeService(merged, name, file, inputs).read(launch);
  }
  if (found) launch.form = "docker compose";
  return found;
}

}  // namespace meshwright::interop
