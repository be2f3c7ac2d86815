// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/command_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "interop/shell/base_name.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kLongestSaid = 120;

std::string name_of_option(const std::string& word) { return word.substr(0, word.find('=')); }

bool is_option_word(const std::string& word) {
  if (word.starts_with("--")) return word.size() > 2;
  return word.size() > 1 && word[0] == '-' &&
         std::isalpha(static_cast<unsigned char>(word[1])) != 0;
}

std::string said_in_command(const Value& value, const std::string& option) {
  std::string text = option;
  for (const std::string& word : value.words) text += " " + word;
  return text.size() <= kLongestSaid ? text : text.substr(0, kLongestSaid) + "...";
}

std::size_t count_options(const ShellCommand& command,
                          const std::function<bool(std::string_view)>& is_option) {
  return static_cast<std::size_t>(std::count_if(
      command.words.begin(), command.words.end(),
      [&](const MarkedText& word) { return is_option(name_of_option(word.text())); }));
}

// "8", "gpu:8", "gpu:h100:8".
std::optional<int> count_in(const std::string& text) {
  const std::string digits =
      text.substr(text.rfind(':') == std::string::npos ? 0 : text.rfind(':') + 1);
  int value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, value);
  const bool whole = error == std::errc() && stopped == end && value > 0 && value <= 10'000'000;
  return whole ? std::optional(value) : std::nullopt;
}

struct Launcher {
  std::optional<int> nodes, per_node, in_all;
};

enum class Says { nodes, per_node, in_all };
struct LauncherOption {
  std::string_view name;
  Says says;
};
// torchrun, torch.distributed.launch, deepspeed, srun, accelerate, mpirun.
constexpr std::array kLauncherOptions{LauncherOption{"--nnodes", Says::nodes},
                                      LauncherOption{"--num_nodes", Says::nodes},
                                      LauncherOption{"--num_machines", Says::nodes},
                                      LauncherOption{"--nodes", Says::nodes},
                                      LauncherOption{"-N", Says::nodes},
                                      LauncherOption{"--nproc_per_node", Says::per_node},
                                      LauncherOption{"--nproc-per-node", Says::per_node},
                                      LauncherOption{"--num_gpus", Says::per_node},
                                      LauncherOption{"--gpus-per-node", Says::per_node},
                                      LauncherOption{"--ntasks-per-node", Says::per_node},
                                      LauncherOption{"--num_processes", Says::in_all},
                                      LauncherOption{"--ntasks", Says::in_all},
                                      LauncherOption{"-npernode", Says::per_node},
                                      LauncherOption{"--npernode", Says::per_node},
                                      LauncherOption{"-np", Says::in_all}};

std::optional<Says> launcher_says(std::string_view name) {
  for (const LauncherOption& option : kLauncherOptions) {
    if (option.name == name) return option.says;
  }
  return std::nullopt;
}

void set(Launcher& launcher, Says says, int count) {
  (says == Says::nodes      ? launcher.nodes
   : says == Says::per_node ? launcher.per_node
                            : launcher.in_all) = count;
}

// The header's, for what the command leaves out. One task a node starts torchrun.
void add_header(Launcher& launcher, const std::map<std::string, std::string>& header) {
  const auto count = [&](const char* name) -> std::optional<int> {
    const auto found = header.find(name);
    return found == header.end() ? std::nullopt : count_in(found->second);
  };
  if (!launcher.nodes) launcher.nodes = count("--nodes");
  if (launcher.per_node && *launcher.per_node > 1) return;
  for (const char* name : {"--gpus-per-node", "--gres", "--ntasks-per-node"}) {
    const auto per_node = count(name);
    if (per_node && (!launcher.per_node || *per_node > 1)) {
      launcher.per_node = per_node;
      return;
    }
  }
}

// torchrun takes what its command leaves out from PET_NAME.
void add_torchrun_variables(Launcher& launcher, const std::map<std::string, MarkedText>& exported) {
  const auto count = [&](const char* name) -> std::optional<int> {
    const auto found = exported.find(name);
    const bool known = found != exported.end() && !found->second.unknown();
    return known ? count_in(found->second.text()) : std::nullopt;
  };
  if (!launcher.nodes) launcher.nodes = count("PET_NNODES");
  if (!launcher.per_node) launcher.per_node = count("PET_NPROC_PER_NODE");
}

// The most that any of the options changes; a variable may hold any.
OptionEffect effect_of_words(const std::string& words) {
  OptionEffect most = OptionEffect::none;
  bool is_value = false;
  for (const std::string& word : split_words(words)) {
    if (word.starts_with('$') && !is_value) most = OptionEffect::cost;
    is_value = word.starts_with("--");
    if (is_value) most = std::max(most, effect_of(name_of_option(word)));
  }
  return most;
}

// The first option that says a size.
std::string size_among(const std::string& words) {
  for (const std::string& word : split_words(words)) {
    if (word.starts_with("--") && size_spelled(name_of_option(word)) != nullptr) {
      return name_of_option(word);
    }
  }
  return "";
}

// Options that begin a command, where another one with options stands before them, were cut off it.
void refuse_cut_off_options(const ShellCommand& best, const ShellScript& script,
                            const std::string& file) {
  if (!best.words.front().text().starts_with("--")) return;
  for (const ShellCommand& command : script.commands) {
    if (&command == &best) return;
    const bool starts =
        std::any_of(command.words.begin() + 1, command.words.end(), [](const MarkedText& word) {
          return word.text().starts_with("--") || word.text().ends_with(".py");
        });
    const std::string& name = command.words.front().text();
    if (!starts || name == "echo" || name == "printf") continue;
    throw InputError(
        Place{file, best.words.front().line(), 0}.text(), "",
        fmt::format("{} ...: these options belong to no command, so nothing is judged",
                    best.words.front().text()),
        fmt::format("a comment, an empty line or a blank behind a backslash ends the command of "
                    "line {}",
                    command.words.front().line()));
  }
}

// "$EXTRA_ARGS", "$@", "$(cat options)": nothing is known of it.
bool is_unknown_variable(const MarkedText& word) {
  return (word.text().starts_with('$') || word.text().starts_with('`')) && word.unknown_at(0);
}

Value variable_of_options(const MarkedText& word, const ShellScript& script,
                          const std::string& file) {
  Value value;
  value.key = value.said = word.text();
  value.place = {file, word.line()};
  value.unknown = why_unknown(word, script);
  return value;
}

// Why the one value of a launcher's option is not known. The words behind it are the program.
std::string why_unknown_count(const Value& option, const ShellCommand& command,
                              const ShellScript& script) {
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    if (name_of_option(word) != option.key) continue;
    const bool glued = word.size() > option.key.size();
    if (glued || i + 1 == command.words.size()) return why_unknown(command.words[i], script);
    return why_unknown(command.words[i + 1], script);
  }
  return option.unknown;
}

bool is_torchrun(const MarkedText& word) {
  return word.text().ends_with("torchrun") || word.text().starts_with("torch.distributed.") ||
         word.text() == "automodel";
}

// torchrun and what it grew out of start on one node unless told; so does deepspeed, without a file
// of hosts. Empty: others.
std::string why_one_node(const ShellCommand& command) {
  const auto any = [&](auto is) {
    return std::any_of(command.words.begin(), command.words.end(), is);
  };
  if (any(is_torchrun)) return "torchrun's default";
  const bool of_deepspeed =
      any([](const MarkedText& word) { return base_name(word.text()) == "deepspeed"; });
  const bool says_hosts = any([](const MarkedText& word) {
    const std::string name = name_of_option(word.text());
    return name == "--hostfile" || name == "-H" || name == "--include" || name == "-i";
  });
  return of_deepspeed && !says_hosts ? "deepspeed's default without a file of hosts" : "";
}

}  // namespace

ShellInputs shell_inputs(const LaunchHints& hints, const ReadNamedFile& read) {
  return {hints.variables, hints.arguments, read};
}

std::string why_unknown(const MarkedText& word, const ShellScript& script) {
  if (!word.unknown()) return "";
  std::size_t at = 0;
  while (!word.unknown_at(at)) ++at;
  const std::string text = word.text().substr(at);
  std::string name;
  for (const char c : text) {
    const bool is_name = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    if (is_name) name += c;
    if (!is_name && !name.empty()) break;
  }
  const auto why = script.why_unknown.find(name);
  if (text.starts_with("$((")) return text + " is not known";
  if (text.starts_with("$@") || text.starts_with("$*")) {
    return "it is the script's arguments: --args \"...\" states them";
  }
  if (text.starts_with("$(") || text.starts_with("`")) return "commands are not run: " + text;
  return why == script.why_unknown.end() ? text + " is not known" : name + ": " + why->second;
}

const ShellCommand* launch_command(const ShellScript& script,
                                   const std::function<bool(std::string_view)>& is_option,
                                   const std::string& file, LaunchRecord& record) {
  const ShellCommand* best = nullptr;
  std::size_t most = 0;
  for (const ShellCommand& command : script.commands) {
    const std::string& name = command.words.front().text();
    if (name == "echo" || name == "printf") continue;
    const std::size_t options = count_options(command, is_option);
    if (options > most) {
      best = &command;
      most = options;
    }
  }
  if (best != nullptr) refuse_cut_off_options(*best, script, file);
  for (const NotSourced& missing : script.not_sourced) {
    record.not_understood.push_back({"source " + base_name(missing.name),
                                     "the file is not there to be read",
                                     {file, missing.line},
                                     OptionEffect::unknown});
  }
  for (const LeftOutOptions& options : script.left_out) {
    const std::string why =
        options.why.empty()
            ? "added under a condition, which nothing decides: left out"
            : fmt::format("added under a condition that is not known ({}): left out", options.why);
    record.not_understood.push_back({.said = options.words,
                                     .why = why,
                                     .place = {file, options.line},
                                     .effect = effect_of_words(options.words),
                                     .key = size_among(options.words),
                                     .undecided = true});
  }
  for (const ShellCommand& command : script.commands) {
    const std::string& name = command.words.front().text();
    if (&command != best && name.starts_with("--")) {
      record.not_understood.push_back(
          {name + (command.words.size() > 1 ? " " + command.words[1].text() + " ..." : ""),
           "these options belong to no command: a comment or an empty line between continued lines "
           "ends it",
           {file, command.words.front().line()},
           OptionEffect::cost});
      continue;
    }
    const bool another = &command != best && name != "echo" && name != "printf";
    if (best == nullptr || !another || 2 * count_options(command, is_option) <= most) continue;
    record.not_understood.push_back(
        {fmt::format("the command {} ...", command.words.front().text()),
         fmt::format("a second launch; the one of line {} is read", best->words.front().line()),
         {file, command.words.front().line()},
         OptionEffect::none});
  }
  return best;
}

std::size_t first_program_word(const ShellCommand& command) {
  std::size_t first = 0;
  for (std::size_t i = 0; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    if (word.ends_with(".py")) return i + 1;
    if (word == "-m" && i + 1 < command.words.size()) {
      const std::string& module = command.words[i + 1].text();
      if (!module.starts_with("torch.distributed") && !module.starts_with("accelerate")) {
        first = i + 2;
      }
    }
  }
  return first;
}

std::vector<Value> options_of(const ShellCommand& command, std::size_t first,
                              const ShellScript& script, const std::string& file,
                              const MostWords& most_words) {
  std::vector<Value> options;
  for (std::size_t i = first; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    if (is_unknown_variable(command.words[i]) && first > 0) {
      options.push_back(variable_of_options(command.words[i], script, file));
      continue;
    }
    if (!is_option_word(word)) continue;
    const std::size_t most = most_words ? most_words(name_of_option(word)) : 1;
    Value value;
    value.key = name_of_option(word);
    value.place = {file, command.words[i].line()};
    value.unknown = why_unknown(command.words[i], script);
    if (value.key.size() < word.size()) value.words.push_back(word.substr(value.key.size() + 1));
    while (i + 1 < command.words.size() && !is_option_word(command.words[i + 1].text())) {
      if (value.words.size() >= most && is_unknown_variable(command.words[i + 1])) break;
      const MarkedText& next = command.words[++i];
      value.words.push_back(next.text());
      if (value.unknown.empty()) value.unknown = why_unknown(next, script);
    }
    value.said = said_in_command(value, value.key);
    options.push_back(std::move(value));
  }
  return options;
}

void list_unknown_words(const ShellCommand& command, const ShellScript& script,
                        const std::string& file, LaunchRecord& record) {
  if (first_program_word(command) > 0) return;  // options_of has them
  for (std::size_t i = 2; i < command.words.size(); ++i) {
    const MarkedText& word = command.words[i];
    const bool is_value =
        is_option_word(command.words[i - 1].text()) && !contains(command.words[i - 1].text(), "=");
    if (is_value || !is_unknown_variable(word)) continue;
    record.not_understood.push_back({word.text(),
                                     "it may hold options: " + why_unknown(word, script),
                                     {file, word.line()},
                                     OptionEffect::unknown});
  }
}

void list_options_of_command(const ShellCommand& command, const ShellScript& script,
                             const std::string& file, LaunchRecord& record) {
  const std::size_t first = first_program_word(command);
  const auto list = [&](const Value& value) {
    const OptionEffect effect = effect_of(value.key);
    if (effect == OptionEffect::none) {
      record.harmless.push_back(value.said);
      return;
    }
    record.not_understood.push_back({.said = value.said,
                                     .why = "an option of the command, which is not read",
                                     .place = value.place,
                                     .effect = effect,
                                     .key = value.key});
  };
  for (const Value& option : options_of(command, first, script, file)) {
    const bool names_file = option.words.size() == 1 && names_configuration(option.words.front());
    if (!names_file) list(option);
  }
  for (std::size_t i = first; i < command.words.size(); ++i) {
    const std::string& word = command.words[i].text();
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || word.starts_with('-') || names_configuration(word)) continue;
    Value value;
    value.key = word.substr(0, equals);
    value.words = {word.substr(equals + 1)};
    value.said = word;
    value.place = {file, command.words[i].line()};
    list(value);
  }
}

bool names_configuration(std::string_view word) {
  return word.ends_with(".yaml") || word.ends_with(".yml") || word.ends_with(".toml") ||
         word.ends_with(".json");
}

void read_launcher(const ShellCommand& command, const ShellScript& script, const std::string& file,
                   LaunchRecord& record) {
  Launcher launcher;
  bool says_nodes = false;
  const std::size_t end = first_program_word(command);
  for (Value& option : options_of(command, 0, script, file)) {
    const auto says = launcher_says(option.key);
    if (!says || (end > 0 && option.words.empty())) continue;
    if (option.words.size() > 1) {  // the next word is the program, not a value of the option
      option.words.resize(1);
      option.said = said_in_command(option, option.key);
    }
    if (!option.unknown.empty()) option.unknown = why_unknown_count(option, command, script);
    says_nodes = says_nodes || *says == Says::nodes;
    const auto count = option.unknown.empty() && !option.words.empty()
                           ? count_in(option.words.front())
                           : std::nullopt;
    if (count) {
      set(launcher, *says, *count);
      record.read.push_back({*says == Says::nodes      ? "num_nodes"
                             : *says == Says::per_node ? "gpus_per_node"
                                                       : "gpus",
                             std::to_string(*count), option.said, option.place});
    } else {
      const std::string why = option.unknown.empty() ? "how many is no number" : option.unknown;
      record.not_understood.push_back({option.said, why, option.place, OptionEffect::unknown});
      record.unknown_gpus = option.said + ": " + why;
    }
  }
  if (std::any_of(command.words.begin(), command.words.end(), is_torchrun)) {
    add_torchrun_variables(launcher, script.exported);
  }
  add_header(launcher, script.slurm);
  const std::string why = why_one_node(command);
  if (!launcher.nodes && !says_nodes && launcher.per_node && !why.empty()) {
    launcher.nodes = 1;
    record.assumed.push_back({"num_nodes", "1", why, {}});
  }
  if (launcher.per_node) record.gpus_per_node = *launcher.per_node;
  if (launcher.in_all) record.gpus = *launcher.in_all;
  if (!launcher.in_all && launcher.nodes && launcher.per_node) {
    record.gpus = *launcher.nodes * *launcher.per_node;
  }
}

}  // namespace meshwright::interop
