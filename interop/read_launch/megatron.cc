// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/megatron.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "interop/read_launch/command_values.h"
#include "interop/read_launch/environment.h"
#include "interop/read_launch/foreign_launch.h"
#include "interop/read_launch/launch_format.h"
#include "interop/read_launch/launch_reading.h"
#include "interop/read_launch/megatron_arguments.h"
#include "interop/read_launch/megatron_deepspeed.h"
#include "interop/read_launch/megatron_fields.h"
#include "interop/read_launch/megatron_yaml.h"
#include "interop/shell/base_name.h"
#include "interop/shell/shell_script.h"
#include "sim/base/error.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::string_view kBlockBegins = " arguments ---";
constexpr std::string_view kBlockEnds = "end of arguments ---";

// The words of an option under its key in Python; a switch that clears its key says so.
void put(Values& values, const MegatronArgument& argument, Value value) {
  value.key = argument.key;
  if (argument.kind == ArgumentKind::off) value.words = {"false"};
  if (argument.kind == ArgumentKind::on) value.words.clear();
  values.add(std::move(value));
}

std::size_t most_words(std::string_view name) {
  const MegatronArgument* argument = megatron_argument(name);
  if (argument == nullptr || argument->kind == ArgumentKind::one) return 1;
  const bool many = argument->kind == ArgumentKind::many;
  return many ? std::numeric_limits<std::size_t>::max() : 0;
}

}  // namespace

void list_megatron_words(LaunchReading& reading, WordClass word_class) {
  for (Value& value : reading.values().all()) {
    const MegatronArgument* argument = megatron_argument_of_key(value.key);
    const bool is_of = argument != nullptr && argument->is_of(word_class);
    if (is_of && !value.used) reading.list_word(value, *argument->group);
  }
}

namespace {

// "  num_layers ..................... 96", wherever in the line it begins.
std::optional<std::pair<std::string, std::string>> block_line(const std::string& line) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string::npos || dots == 0) return std::nullopt;
  const std::size_t name = line.find_last_of(" \t", dots - 1);
  const std::size_t begin = name == std::string::npos ? 0 : name + 1;
  const std::size_t value = line.find_first_not_of('.', dots + 1);
  if (value == std::string::npos || line[value] != ' ') return std::nullopt;
  return std::pair{line.substr(begin, dots - begin), line.substr(value + 1)};
}

// Python's way of writing a value as words: None is none of them.
std::optional<std::vector<std::string>> python_words(const std::string& typed) {
  const std::string text = trimmed_right(typed);
  if (text == "None" || text.empty()) return std::nullopt;
  if (text.front() != '[') return std::vector{text};
  std::vector<std::string> words;
  std::string word;
  for (const char c : text.substr(1)) {
    if (c == ',' || c == ']') {
      if (!word.empty()) words.push_back(std::exchange(word, ""));
    } else if (c != ' ' && c != '\'' && c != '"') {
      word += c;
    }
  }
  return words;
}

// torch.bfloat16, AttnBackend.flash, in the words of the command line.
std::string plain_word(const std::string& word) {
  if (word == "torch.float32") return "fp32";
  if (word == "torch.bfloat16") return "bf16";
  if (word == "torch.float16") return "fp16";
  if (word == "torch.uint8") return "fp8";
  constexpr std::string_view kBackend = "AttnBackend.";
  return word.starts_with(kBackend) ? word.substr(kBackend.size()) : word;
}

// Switches that are off are left out, as on a command line; those that are on unless cleared stay.
bool says_nothing(const MegatronArgument* argument, const std::vector<std::string>& words) {
  const bool off = words.size() == 1 && words.front() == "False";
  const bool on = words.size() == 1 && words.front() == "True";
  if (argument == nullptr) return off;
  if (argument->kind == ArgumentKind::off) return on;
  return argument->kind == ArgumentKind::on && off;
}

Values values_of_block(std::string_view text, const std::string& file) {
  Values values;
  bool inside = false;
  int number = 0;
  for (const std::string& line : split_lines(text)) {
    ++number;
    if (contains(line, kBlockEnds)) break;
    if (contains(line, kBlockBegins)) {
      inside = true;
      continue;
    }
    if (!inside) continue;
    const auto found = block_line(line);
    if (!found) continue;
    const auto words = python_words(found->second);
    const MegatronArgument* argument = megatron_argument_of_key(found->first);
    if (!words || says_nothing(argument, *words)) continue;
    Value value;
    value.key = found->first;
    for (const std::string& word : *words) value.words.push_back(plain_word(word));
    value.said = fmt::format("{} = {}", found->first, found->second);
    value.place = {file, number};
    // A block holds every argument; those that nobody asked for are as the software has them.
    const bool is_switch = argument != nullptr && argument->kind == ArgumentKind::on;
    const bool unmodelled = argument != nullptr && argument->is_of(WordClass::not_modelled);
    if (unmodelled && !is_switch) continue;
    value.used = !unmodelled;
    values.add(std::move(value));
  }
  return values;
}

}  // namespace

int count_megatron_options(std::string_view text, int enough) {
  int count = 0;
  for (std::size_t at = text.find("--"); at != std::string_view::npos && count < enough;
       at = text.find("--", at + 2)) {
    const std::size_t end = std::min(text.find_first_of(" \t\r\n=\"'\\)", at), text.size());
    const std::string_view name = text.substr(at, end - at);
    const bool own = name.find('-', 2) != std::string_view::npos;  // --bf16 is anybody's
    const MegatronArgument* argument = own ? megatron_argument(name) : nullptr;
    if (argument != nullptr && argument->group == nullptr) ++count;
  }
  return count;
}

bool has_megatron_argument_block(std::string_view text) {
  const std::size_t begin = text.find(kBlockBegins);
  return begin != std::string_view::npos && text.find(kBlockEnds, begin) != std::string_view::npos;
}

namespace {

// Options that are nobody's of Megatron-LM, and which change a size or the precision.
std::string foreign_options(const Values& values) {
  std::string names;
  for (const Value& value : values.all()) {
    const bool changes =
        size_spelled(value.key) != nullptr || effect_of(value.key) == OptionEffect::precision;
    const bool known = megatron_argument_of_key(value.key) != nullptr;
    if (!known && changes) append_to_list(names, ", ", value.key);
  }
  return names;
}

// Others name options alike, and set the rest in Python. Megatron-LM's own programs are
// pretrain_gpt.py and their kin.
void refuse_other_program(const ShellCommand& command, const Values& values,
                          const std::string& file) {
  const std::size_t first = first_program_word(command);
  if (first == 0) return;
  const MarkedText& program = command.words[first - 1];
  const std::string name = base_name(program.text());
  if (name.starts_with("pretrain") || contains_any_case(program.text(), "megatron")) return;
  const std::string foreign = foreign_options(values);
  const bool stops = values.has("num_layers") && !values.has("max_position_embeddings");
  if (foreign.empty() && !stops) return;
  refuse_own_program({file, program.line()}, name,
                     foreign.empty()
                         ? "--max-position-embeddings is missing, without which that stops"
                         : "that has no " + foreign,
                     values.all());
}

}  // namespace

LaunchRecord read_megatron_script(std::string_view text, const std::string& file,
                                  const LaunchHints& hints, const ReadNamedFile& read) {
  const ShellScript script = read_shell_script(text, file, shell_inputs(hints, read));
  LaunchRecord record;
  record.target = "Megatron-LM";
  const ShellCommand* command = launch_command(
      script, [](std::string_view word) { return megatron_argument(word) != nullptr; }, file,
      record);
  if (command == nullptr) {
    throw InputError(file, "", "has no command with options of Megatron-LM",
                     "give the script that starts pretrain_gpt.py, or its command line");
  }
  read_start(*command, script, file, record);
  const auto connections = script.exported.find("CUDA_DEVICE_MAX_CONNECTIONS");
  if (connections != script.exported.end()) {
    record.variables["CUDA_DEVICE_MAX_CONNECTIONS"] = connections->second.text();
  }
  Values values;
  for (Value& option :
       options_of(*command, first_program_word(*command), script, file, most_words)) {
    if (option.key.starts_with('$') || option.key.starts_with('`')) {
      // An unknown value from the environment is named; one that the script itself sets must be
      // known.
      if (contains(option.unknown, "condition") || contains(option.unknown, "read from") ||
          contains(option.unknown, "commands are not run")) {
        throw InputError(
            option.place.exact_text(), "",
            option.said + ": it holds options, and " + option.unknown,
            "--set NAME=VALUE states it, or decides the condition; so does --args \"...\"");
      }
      record.not_understood.push_back({option.said, "it may hold options: " + option.unknown,
                                       option.place, OptionEffect::cost});
      continue;
    }
    const MegatronArgument* argument = megatron_argument(option.key);
    if (argument != nullptr) {
      put(values, *argument, std::move(option));
    } else {
      values.add(std::move(option));
    }
  }
  refuse_other_program(*command, values, file);
  read_deepspeed_file(values, script, read, record);
  LaunchReading reading(values, record);
  for (const TakenDefault& taken : script.taken_defaults) {
    reading.assume(taken.name, taken.value,
                   fmt::format("line {}: the environment may say otherwise", taken.line));
  }
  list_megatron_words(reading, WordClass::not_modelled);
  read_megatron_fields(reading, hints, file);
  list_megatron_words(reading, WordClass::harmless);
  for (Value& value : reading.values().all()) {
    if (value.used || megatron_argument_of_key(value.key) == nullptr) continue;
    reading.not_understood(value, "no other option of this launch asks for it",
                           effect_of(value.key));
    value.used = true;
  }
  const LauncherWords& words = launcher_words("megatron-lm");
  reading.list_unknown(words.launcher + " " + words.version, megatron_flags());
  return record;
}

LaunchRecord read_megatron_argument_block(std::string_view text, const std::string& file,
                                          const LaunchHints& hints) {
  Values values = values_of_block(text, file);
  LaunchRecord record;
  record.target = "Megatron-LM";
  LaunchReading reading(values, record);
  list_megatron_words(reading, WordClass::not_modelled);
  reading.integer(record.gpus, "gpus", "world_size");
  read_megatron_fields(reading, hints, file);
  return record;
}

namespace {

constexpr int kEnoughOptions = 3;

bool is_megatron_command(const LaunchText& text) {
  return is_script(text) && count_megatron_options(text.text, kEnoughOptions) >= kEnoughOptions;
}

}  // namespace

extern const LaunchFormat kMegatronFormat;
constexpr LaunchFormat kMegatronFormat{
    is_megatron_command,
    [](const LaunchText& t, const LaunchHints& hints, const ReadNamedFile& read) {
      return read_megatron_script(t.text, t.file, hints, read);
    }};

}  // namespace meshwright::interop
