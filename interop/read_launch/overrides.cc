// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/overrides.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "interop/read_launch/bridge_options.h"
#include "interop/read_launch/bridge_recipe.h"
#include "interop/read_launch/command_values.h"
#include "interop/read_launch/document.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/megatron_bridge.h"
#include "interop/read_launch/read_launch.h"
#include "interop/read_launch/stated_values.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::array<std::string_view, 10> kSections{
    "model.",        "train.",       "trainer.",        "ddp.", "optimizer.", "dataset.",
    "comm_overlap.", "exp_manager.", "mixed_precision", "peft."};

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

// The options behind the program. A word with '=' behind an option's value is an override.
std::vector<Value> plain_options(const ShellCommand& command, const ShellScript& script,
                                 const std::string& file) {
  std::vector<Value> options = options_of(command, first_program_word(command), script, file);
  for (Value& option : options) {
    if (option.words.size() > 1) option.words.resize(1);
    const bool is_override =
        option.words.size() == 1 && contains(option.words.front(), "=") &&
        is_override_key(option.words.front().substr(0, option.words.front().find('=')));
    if (is_override) option.words.clear();
    option.said = option.key + (option.words.empty() ? "" : " " + option.words.front());
  }
  return options;
}

bool is_one_of(const std::string& word, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

// The YAML that the command names, below its overrides. One that is not there is refused.
Values named_configuration(std::vector<Value>& options, const ReadNamedFile& read) {
  std::string folder, name;
  const Value* said = nullptr;
  for (const Value& option : options) {
    const std::string word = option.words.empty() ? "" : option.words.front();
    if (is_one_of(option.key, {"--config-path", "--config-dir", "-cd", "-cp"})) folder = word;
    if (is_one_of(option.key, {"--config-name", "-cn", "--config-file", "--config_file"})) {
      name = word;
      said = &option;
    }
  }
  if (said == nullptr) return {};
  const bool has_ending = names_configuration(name);
  const std::string whole = has_ending ? name : name + ".yaml";
  std::optional<std::string> text;
  if (read) text = read(folder.empty() ? whole : folder + "/" + whole);
  if (read && !text) text = read(whole);
  if (!text) {
    throw InputError(said->place.exact_text(), "",
                     said->said + ": what this configuration says is not read",
                     "give the YAML itself with --from, or lay it beside the script");
  }
  std::erase_if(options, [](const Value& option) {
    return option.key.starts_with("--config") || is_one_of(option.key, {"-cd", "-cp", "-cn"});
  });
  return values_of_yaml(*text, whole);
}

struct Overrides {
  Values values;
  std::vector<std::string> nulls;  // keys that are set to null
};

Overrides overrides_of(const ShellCommand& command, const ShellScript& script,
                       const std::string& file) {
  Overrides found;
  for (const MarkedText& word : command.words) {
    const std::size_t equals = word.text().find('=');
    if (equals == std::string::npos || word.text().starts_with('-')) continue;
    if (!is_override_key(word.text().substr(0, equals))) continue;
    Value value;
    value.key = plain_key(word.text().substr(0, equals));
    value.words = stated_words(word.text().substr(equals + 1));
    value.said = word.text();
    value.place = {file, word.line()};
    value.unknown = why_unknown(word, script);
    if (value.words.empty()) {
      found.nulls.push_back(value.key);
    } else {
      found.values.add(std::move(value));
    }
  }
  return found;
}

// A key of both is the override's.
Values laid_over(const Values& below, const Overrides& overrides) {
  Values all;
  for (const Value& value : below.all()) {
    const auto& nulls = overrides.nulls;
    const bool null = std::find(nulls.begin(), nulls.end(), value.key) != nulls.end();
    if (!null && !overrides.values.has(value.key)) all.add(value);
  }
  for (const Value& value : overrides.values.all()) all.add(value);
  return all;
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
  const auto is_word = [](std::string_view word) {
    return is_override_word(word) || is_bridge_recipe_option(word);
  };
  const ShellCommand* command = launch_command(script, is_word, file, record);
  if (command == nullptr) throw InputError(file, "", "has no command with overrides of a recipe");
  read_start(*command, script, file, record);
  list_unknown_words(*command, script, file, record);
  std::vector<Value> options = plain_options(*command, script, file);
  const Values named = named_configuration(options, read);
  Overrides overrides = overrides_of(*command, script, file);
  Values values = with_references(laid_over(named, overrides), hints.variables);
  if (is_nemos(values)) {
    for (const Value& option : options) values.add(option);
    read_nemo_values(std::move(values), file, hints, record);
    return record;
  }
  const BridgeOptions said = bridge_options(options, contains(text, "training/train.sh"), record);
  for (const Value& value : said.overrides.all()) {
    if (!values.has(value.key)) values.add(value);
  }
  if (!said.recipe.empty()) {
    values = over_recipe({said.said, overrides.nulls}, values, hints, record);
  }
  for (const Value& option : said.others.all()) values.add(option);
  read_megatron_bridge_values(std::move(values), hints, record);
  return record;
}

namespace {

constexpr int kEnoughOverrides = 2;

}  // namespace

extern const LaunchFormat kOverridesFormat;
constexpr LaunchFormat kOverridesFormat{
    [](const LaunchText& t) {
      return is_script(t) &&
             (count_overrides(t.text) >= kEnoughOverrides || names_bridge_recipe(t.text));
    },
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_override_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
