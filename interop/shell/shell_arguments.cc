// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_arguments.h"

#include <algorithm>
#include <utility>

namespace meshwright::interop {
namespace {

using Words = std::vector<MarkedText>;

constexpr std::size_t kMostArgumentDigits = 6;

std::optional<std::size_t> number_of(const std::string& text) {
  if (text.empty() || text.size() > kMostArgumentDigits) return std::nullopt;
  if (text.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  return static_cast<std::size_t>(std::stoi(text));
}

MarkedText marked(const std::string& text, int line) {
  MarkedText marked;
  for (const char c : text) marked.add(c, line);
  return marked;
}

// An argument has the line that it is used in.
MarkedText used_in(const MarkedText& word, int line) {
  return word.empty() || word.line() > 0 ? word : marked(word.text(), line);
}

}  // namespace

std::string why_own_argument(const ShellState& state) {
  if (state.context.in_function) return "it is an argument of a function";
  if (!state.arguments.lost.empty()) return state.arguments.lost;
  return state.context.in_while ? "the loop may shift the script's arguments" : "";
}

bool is_argument_name(const std::string& name) {
  return name == "@" || name == "*" || name == "#" ||
         (!name.empty() && name.find_first_not_of("0123456789") == std::string::npos);
}

std::string original_argument(const std::string& name, const ShellState& state) {
  const auto number = number_of(name);
  if (!number || *number == 0 || !why_own_argument(state).empty()) return name;
  return std::to_string(*number + state.arguments.shifted);
}

std::optional<Words> find_argument(const std::string& name, ShellState& state, int line) {
  const std::string original = original_argument(name, state);
  const auto number = number_of(name);
  const auto found = state.variables.find(original);
  const auto& given = state.arguments.given;
  std::string why = why_own_argument(state);
  if (why.empty() && number && found != state.variables.end()) return found->second.words;
  if (why.empty() && number == 0U) why = "it is the script's name";
  if (why.empty() && !given) {
    why = number ? fmt::format("it is the script's argument {}: --args gives them", original)
                 : "it depends on the script's arguments: --args gives them";
  }
  if (!why.empty()) {
    // The reason "it is the script's argument" is more useful than "a loop may shift it".
    std::string& said = state.script.why_unknown[original];
    if (said.empty() || why_own_argument(state).empty()) said = why;
    return std::nullopt;
  }
  std::size_t size = 1;
  for (const MarkedText& word : *given) size += number ? 1 : word.size();
  if (!state.affords(size)) return std::nullopt;
  if (name == "#") return Words{marked(std::to_string(given->size()), line)};
  Words words;
  if (!number) {
    for (const MarkedText& word : *given) words.push_back(used_in(word, line));
  } else if (*number <= given->size()) {
    words.push_back(used_in((*given)[*number - 1], line));
  }
  return words;
}

void shift_arguments(ShellState& state, const Words& words) {
  if (state.dead() || state.context.in_function) return;
  const auto count = words.size() < 2     ? std::optional<std::size_t>(1)
                     : words[1].unknown() ? std::nullopt
                                          : number_of(words[1].text());
  if (!count || state.conditional()) {
    state.arguments.lost =
        fmt::format("arguments are shifted under a condition, line {}", words.front().line());
    return;
  }
  auto& given = state.arguments.given;
  if (given && *count > given->size()) return;  // as bash does
  constexpr std::size_t kMostShifted = 1'000'000;
  state.arguments.shifted = std::min(state.arguments.shifted + *count, kMostShifted);
  if (given) given->erase(given->begin(), given->begin() + static_cast<std::ptrdiff_t>(*count));
}

void set_arguments(ShellState& state, const Words& words) {
  if (words.size() < 2 || words[1].text() != "--" || state.dead()) return;
  if (state.context.in_function) return;
  if (state.conditional()) {
    state.arguments.lost =
        fmt::format("arguments are set under a condition, line {}", words.front().line());
    return;
  }
  state.arguments = {Words(words.begin() + 2, words.end()), 0, ""};
  for (auto at = state.variables.begin(); at != state.variables.end();) {
    at = is_argument_name(at->first) ? state.variables.erase(at) : std::next(at);
  }
}

OtherArguments::OtherArguments(ShellState& state, std::optional<Words> given,
                               const std::string& why_unknown)
    : state_(state), kept_(std::exchange(state.arguments, {})) {
  state.arguments.lost = given ? "" : why_unknown;
  state.arguments.given = std::move(given);
}

}  // namespace meshwright::interop
