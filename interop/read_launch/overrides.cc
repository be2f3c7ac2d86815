// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/overrides.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/read_launch.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::array<std::string_view, 9> kSections{
    "model.",   "train.",        "trainer.",     "ddp.",           "optimizer.",
    "dataset.", "comm_overlap.", "exp_manager.", "mixed_precision"};

// "+model.x" adds a key, "++model.x" adds or overrides one.
std::string_view plain_key(std::string_view key) {
  while (key.starts_with('+')) key.remove_prefix(1);
  return key;
}

bool is_override_word(std::string_view key) {
  const std::string_view plain = plain_key(key);
  return std::any_of(kSections.begin(), kSections.end(),
                     [&](std::string_view section) { return plain.starts_with(section); });
}

// Any dotted name behind the program, so that what is not known is listed.
bool is_override_key(std::string_view key) {
  const std::string_view plain = plain_key(key);
  if (is_override_word(key)) return true;
  const bool named = !plain.empty() && plain.front() >= 'a' && plain.front() <= 'z';
  return named && std::all_of(plain.begin(), plain.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '.';
         });
}

// Options beside the overrides; a configuration that they name is not read.
void add_options(const ShellCommand& command, const ShellScript& script, const std::string& file,
                 Values& values) {
  for (Value& option : options_of(command, first_program_word(command), script, file)) {
    const bool file_of_sizes = option.key == "--config-name" || option.key == "--config-file" ||
                               option.key == "--config_file";
    if (option.words.size() > 1) option.words.resize(1);
    option.said = option.key + (option.words.empty() ? "" : " " + option.words.front());
    if (file_of_sizes) {
      throw InputError(option.place.exact_text(), "",
                       option.said + ": what this configuration says is not read",
                       "give the YAML itself with --from");
    } else if (option.key != "--config-path" && option.key != "--config-dir" &&
               option.key != "--recipe") {
      values.add(std::move(option));
    }
  }
}

// "[core_attn,mlp]" is two words, 'bf16' one without its marks.
std::vector<std::string> override_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text) {
    if (c == '[' || c == '\'' || c == '"') continue;
    if (c == ',' || c == ']') {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  return words;
}

Values values_of(const ShellCommand& command, const ShellScript& script, const std::string& file) {
  Values values;
  for (const MarkedText& word : command.words) {
    const std::size_t equals = word.text().find('=');
    if (equals == std::string::npos || !is_override_key(word.text().substr(0, equals))) continue;
    Value value;
    value.key = plain_key(word.text().substr(0, equals));
    value.words = override_words(word.text().substr(equals + 1));
    if (value.words.empty() || value.words.front() == "null") continue;
    value.said = word.text();
    value.place = {file, word.line()};
    value.unknown = why_unknown(word, script);
    values.add(std::move(value));
  }
  return values;
}

bool is_nemos(const Values& values) {
  return std::any_of(values.all().begin(), values.all().end(), [](const Value& value) {
    return value.key.starts_with("trainer.") || value.key.starts_with("exp_manager.") ||
           value.key == "model.encoder_seq_length" || value.key == "model.micro_batch_size";
  });
}

}  // namespace

int count_overrides(std::string_view text) {
  int count = 0;
  for (const std::string& word : split_words(text)) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos && is_override_word(word.substr(0, equals))) ++count;
  }
  return count;
}

LaunchRecord read_override_script(std::string_view text, const std::string& file,
                                  const LaunchHints& hints, const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, shell_inputs(hints, read));
  LaunchRecord record;
  const ShellCommand* command = launch_command(script, is_override_word, file, record);
  if (command == nullptr) throw InputError(file, "", "has no command with overrides of a recipe");
  read_start(*command, script, file, record);
  Values all = values_of(*command, script, file);
  add_options(*command, script, file, all);
  Values values = with_references(std::move(all));
  if (is_nemos(values)) {
    read_nemo_values(std::move(values), file, hints, record);
  } else {
    read_megatron_bridge_values(std::move(values), hints, record);
  }
  return record;
}

namespace {

constexpr int kEnoughOverrides = 2;

}  // namespace

extern const LaunchFormat kOverridesFormat;
constexpr LaunchFormat kOverridesFormat{
    [](const LaunchText& t) { return is_script(t) && count_overrides(t.text) >= kEnoughOverrides; },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_override_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
