// SPDX-License-Identifier: Apache-2.0
// Commands that the reader itself understands: tests, true, shift, set, eval, source, `bash -c`.
// The others are kept as they are.
#include <algorithm>
#include <optional>
#include <utility>

#include "interop/shell/shell_arguments.h"
#include "interop/shell/shell_assignment.h"
#include "interop/shell/shell_cause.h"
#include "interop/shell/shell_condition.h"
#include "interop/shell/shell_cursor.h"
#include "interop/shell/shell_header.h"
#include "interop/shell/shell_reader.h"
#include "interop/shell/shell_source.h"

namespace meshwright::interop {
namespace {

using Words = std::vector<MarkedText>;

// The place of the text that a shell is given to run: bash -c "..."; 0: there is none.
std::size_t place_of_script(const Words& words) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    const std::string& shell = words[i - 1].text();
    const std::string& option = words[i].text();
    const bool is_shell = shell.ends_with("bash") || shell == "sh" || shell.ends_with("/sh");
    if (is_shell && (option == "-c" || option == "-lc" || option == "-xc")) return i + 1;
  }
  return 0;
}

// The place of a script that a command starts without options: "./train.sh", "srun bash train.sh
// 8". A script with options is a launcher, whose words are the launch.
std::optional<std::size_t> place_of_started_file(const Words& words) {
  const std::string& name = words.front().text();
  const bool starts = name == "srun" || name == "exec" || name.ends_with("mpirun") ||
                      name.ends_with("bash") || name == "sh";
  const auto is_file = [](const MarkedText& word) { return word.text().ends_with(".sh"); };
  const auto end = starts || is_file(words.front()) ? words.end() : words.begin();
  const auto file = std::find_if(words.begin(), end, is_file);
  const bool has_options = std::any_of(file, words.end(), [](const MarkedText& word) {
    return word.text().starts_with("--") || word.unknown();
  });
  if (file == end || has_options) return std::nullopt;
  return static_cast<std::size_t>(file - words.begin());
}

// The words after the script's text are its arguments, from $0 on.
void read_inner_script(const Words& words, std::size_t at, ShellState& s, int depth) {
  std::optional<Words> given;
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(at) + 2;
  if (at + 2 < words.size()) given.emplace(first, words.end());
  const OtherArguments arguments(s, std::move(given), "it is an argument of the inner shell");
  read_shell_commands(words[at], s, depth + 1);
}

void read_evaluated(const Words& words, ShellState& s, int depth) {
  MarkedText rest;
  for (std::size_t i = 1; i < words.size(); ++i) {
    rest.add(words[i]);
    rest.add(' ', rest.line());
  }
  read_shell_commands(rest, s, depth + 1);
}

bool is_variable_name(const MarkedText& word) {
  if (word.empty() || word.unknown() || !is_name_start(word.at(0))) return false;
  const std::string& text = word.text();
  return std::all_of(text.begin(), text.end(), is_name);
}

// unset A B; read, readarray, mapfile and getopts give variables what is not known.
void forget_variables(const Words& words, ShellState& s, const std::string& why) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!is_variable_name(words[i]) || s.given.contains(words[i].text())) continue;
    const std::string& name = words[i].text();
    s.variables.erase(name);
    if (s.live()) s.script.exported.erase(name);
    s.script.why_unknown[name] = fmt::format("{}, line {}", why, words[i].line());
  }
}

}  // namespace

ShellResult take_shell_command(ShellCommand command, const MarkedText& typed, ShellState& state,
                               int depth) {
  if (state.dead()) return {};
  ShellResult ran{ShellStatus::assumed, nullptr};
  Words& words = command.words;
  const std::string name = words.front().text();
  if (name == "[" || name == "test") return simple_test(words, typed, state);
  if (words.size() == 1 && is_declaration(name)) return ran;
  if (name == "shift") shift_arguments(state, words);
  if (name == "unset") forget_variables(words, state, "it is unset");
  if (name == "read" || name == "readarray" || name == "mapfile" || name == "getopts") {
    forget_variables(words, state, "it is read from an input");
  }
  if (name == "set") set_arguments(state, words);
  if ((name == "source" || name == ".") && words.size() > 1) {
    read_sourced_file(words, state, depth);
    return ran;
  }
  if (name == "eval") {
    read_evaluated(words, state, depth);
    return ran;
  }
  if (const std::size_t at = place_of_script(words); at > 0) {
    {
      const SrunOptions srun(words, at, state);
      read_inner_script(words, at, state, depth);
    }
    words.resize(at);
  }
  if (const auto at = place_of_started_file(words)) {
    const SrunOptions srun(words, *at, state);
    if (read_started_script(words, *at, state, depth)) return ran;
  }
  state.script.commands.push_back(std::move(command));
  if (name == "true" || name == ":") return {ShellStatus::yes, nullptr};
  if (name == "false") return {ShellStatus::no, nullptr};
  return ran;
}

}  // namespace meshwright::interop
