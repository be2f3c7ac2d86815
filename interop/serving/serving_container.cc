// SPDX-License-Identifier: Apache-2.0
#include "interop/serving/serving_container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "interop/serving/serving_command.h"
#include "interop/serving/serving_options.h"
#include "interop/shell/base_name.h"
#include "interop/shell/shell_cursor.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr int kMostOfContainer = 200;
// Where KServe mounts a model.
constexpr std::string_view kMountedModel = "/mnt/models";

// Words of KServe's server in front of vLLM, and those of vLLM that mean the same; empty: none.
struct ServerWord {
  std::string_view said, means;
};
constexpr std::array kServerWords{ServerWord{"model-id", "--model"},
                                  ServerWord{"model-name", "--served-model-name"},
                                  ServerWord{"backend", ""}, ServerWord{"task", ""}};

std::vector<std::string> engine_words(const std::vector<std::string>& said) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const std::size_t equals = said[i].find('=');
    const std::string name = said[i].starts_with("--") ? spelled(said[i].substr(0, equals)) : "";
    const auto* const word = std::find_if(kServerWords.begin(), kServerWords.end(),
                                          [&](const ServerWord& one) { return one.said == name; });
    if (word == kServerWords.end()) {
      words.push_back(said[i]);
    } else if (!word->means.empty()) {
      words.push_back(std::string(word->means) +
                      (equals == std::string::npos ? "" : said[i].substr(equals)));
    } else if (equals == std::string::npos) {
      ++i;  // its value
    }
  }
  return words;
}

// The script of "sh -c SCRIPT", which may be all of `command` and `args`.
std::optional<std::string> script_in(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  const std::string shell = base_name(words.front());
  if (shell != "sh" && shell != "bash") return std::nullopt;
  for (std::size_t k = 1; k + 1 < words.size(); ++k) {
    if (words[k].starts_with('-') && words[k].ends_with('c')) return words[k + 1];
  }
  return std::nullopt;
}

// A variable of several words as a shell splits them.
std::vector<std::string> shell_words(const std::string& text, const std::string& file) {
  std::vector<std::string> words;
  const ShellScript script = read_shell_script("echo " + text, file, ShellInputs{});
  for (const ShellCommand& command : script.commands) {
    for (std::size_t i = 1; i < command.words.size(); ++i) words.push_back(command.words[i].text());
  }
  return words;
}

}  // namespace

std::string one_word(Values& values, const std::string& key) {
  const Value* value = values.find(key);
  return value != nullptr && value->words.size() == 1 ? value->words.front() : "";
}

bool ContainerReading::read(LaunchedPool base, const OperatedContainer& by, ServingLaunch& launch) {
  const std::string image = this->image();
  read_environment(base.nodes, launch);
  std::vector<std::string> words = words_of(by, image);
  if (words.empty()) return false;
  for (std::string& each : words) {
    each = with_environment(each);
    if (!by.model.empty()) each = replaced(each, kMountedModel, by.model);
  }
  base.gpus_of_container = gpus();
  if (base.gpus_of_container == 0) base.gpus_of_container = by.gpus;
  if (const auto text = script_in(words)) {
    const ShellScript script = read_shell_script(*text, file_, {known_, {}, inputs_.read});
    return read_engine_script({*text, script, file_, inputs_.read, environment_, by.options, image},
                              base, launch);
  }
  ShellScript script;
  script.commands.resize(1);
  for (const std::string& each : words) script.commands[0].words.push_back(marked(each, script));
  return read_engine_script({"", script, file_, inputs_.read, environment_, by.options, image},
                            base, launch);
}

std::string ContainerReading::word(const std::string& key) {
  const Value* value = values_.find(prefix_ + key);
  if (value == nullptr || value->words.size() != 1) return "";
  line_ = std::max(1, value->place.line);
  file_ = value->place.file;
  return value->words.front();
}

// A name, or a repository and a tag beside it.
std::string ContainerReading::image() {
  for (const char* group : {"image.", ""}) {
    const std::string repository = word(fmt::format("{}repository", group));
    if (!repository.empty()) return repository + ":" + word(fmt::format("{}tag", group));
  }
  return word("image");
}

std::vector<std::string> ContainerReading::list(const char* key) {
  const Value* value = values_.find(prefix_ + key);
  if (value == nullptr) return {};
  line_ = std::max(1, value->place.line);
  file_ = value->place.file;
  return value->words;
}

// The container's command, else what the operator or the image starts; behind it the words of the
// operator and of the container. Empty: nothing is known to start.
std::vector<std::string> ContainerReading::words_of(const OperatedContainer& by,
                                                    const std::string& image) {
  std::vector<std::string> words = list("command"), more = by.words;
  const auto add = [&](const std::vector<std::string>& from) {
    more.insert(more.end(), from.begin(), from.end());
  };
  const auto additional = known_.find("VLLM_ADDITIONAL_ARGS");
  if (!by.program.empty() && additional != known_.end()) {
    add(shell_words(additional->second, file_));
    std::erase_if(environment_, [](const Value& one) { return one.key == "VLLM_ADDITIONAL_ARGS"; });
  }
  add(by.program.empty() ? list("args") : engine_words(list("args")));
  if (words.empty()) {
    std::string program = by.program;
    if (program.empty() && engine_of_image(image) == EngineKind::vllm) {
      if (!more.empty() && !script_in(more)) program = "vllm serve";
      if (is_nim(image)) program = "nim-serve";
    }
    if (program == "nim-serve" && !image.empty()) program = "docker run " + image + " nim-serve";
    words = split_words(program);
  }
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

int ContainerReading::gpus() {
  for (const char* key :
       {"resources.limits.nvidia.com/gpu", "resources.requests.nvidia.com/gpu",
        "resources.limits.gpu", "resources.requests.gpu", "resources.limits.amd.com/gpu"}) {
    const Value* value = values_.find(prefix_ + key);
    if (value != nullptr && value->words.size() == 1) return integer_of(*value, {0, 100'000});
  }
  return 0;
}

void ContainerReading::add_variable(const std::string& name, const Value* value,
                                    const Place& place) {
  const bool is_known = value != nullptr && value->words.size() == 1;
  if (is_known) known_[name] = value->words.front();
  const std::string text = is_known ? value->words.front() : "";
  environment_.push_back(
      {name, {text}, name + "=" + text, place, is_known ? "" : "the manifest does not state it"});
}

// A list of names and values, and Ray's map.
void ContainerReading::read_environment(int nodes, ServingLaunch& launch) {
  if (nodes > 0) known_["LWS_GROUP_SIZE"] = std::to_string(nodes);
  for (int i = 0; i < kMostOfContainer; ++i) {
    const Value* name = values_.find(fmt::format("{}env.{}.name", prefix_, i));
    if (name == nullptr) break;
    if (name->words.size() != 1) continue;
    const std::string known = name->words.front();
    add_variable(known, values_.find(fmt::format("{}env.{}.value", prefix_, i)), name->place);
  }
  const std::string map = prefix_ + "runtime_env.env_vars.";
  for (const Value& value : Values(values_).all()) {
    if (value.key.starts_with(map)) add_variable(value.key.substr(map.size()), &value, value.place);
  }
  for (int i = 0; i < 20; ++i) {
    const std::string key = fmt::format("{}envFrom.{}.configMapRef.name", prefix_, i);
    const Value* from = values_.find(key);
    if (from == nullptr || from->words.size() != 1) continue;
    launch.assumed.push_back({"envFrom " + from->words.front(), "no variable of the engine",
                              "another object of the cluster sets them", from->place});
  }
  for (const auto& [name, value] : inputs_.variables) {
    known_[name] = value;
    const auto same = [&](const Value& one) { return one.key == name; };
    const auto found = std::find_if(environment_.begin(), environment_.end(), same);
    const Value stated{name, {value}, name + "=" + value, {}};
    if (found == environment_.end()) {
      environment_.push_back(stated);
    } else {
      found->words = stated.words;
      found->said = stated.said;
      found->unknown.clear();
    }
  }
}

std::string ContainerReading::with_environment(std::string text) const {
  for (const auto& [name, value] : known_) {
    if (name.empty() || text.size() > 1'000'000) continue;
    text = replaced(text, "$(" + name + ")", value);
  }
  return text;
}

// A word in which "$(NAME)" is unknown where the manifest does not set NAME.
MarkedText ContainerReading::marked(const std::string& word, ShellScript& script) const {
  MarkedText text;
  std::size_t at = 0;
  while (at < word.size()) {
    const std::size_t begin = word.find("$(", at);
    const std::size_t end = begin == std::string::npos ? begin : word.find(')', begin);
    const std::size_t name_at = begin + 2;
    const bool is_variable = end != std::string::npos && end > name_at &&
                             std::all_of(word.begin() + std::ptrdiff_t(name_at),
                                         word.begin() + std::ptrdiff_t(end), is_name);
    if (!is_variable) break;
    const std::string name = word.substr(name_at, end - name_at);
    text.add(MarkedText::on_line(word.substr(at, begin - at), line_));
    text.add_unknown("${" + name + "}", line_);
    script.why_unknown[name] = "the manifest does not state it: --set " + name + "=VALUE does";
    at = end + 1;
  }
  text.add(MarkedText::on_line(word.substr(at), line_));
  return text;
}

}  // namespace meshwright::interop
