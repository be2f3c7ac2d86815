// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_source.h"

#include <algorithm>
#include <string>
#include <utility>

#include "interop/shell/shell_arguments.h"
#include "interop/shell/shell_reader.h"

namespace meshwright::interop {
namespace {

// The word that names the file: $(dirname "$0")/x.sh without quotes was parted at its blanks.
MarkedText name_in(const std::vector<MarkedText>& words, std::size_t& next) {
  MarkedText name = words[1];
  for (next = 2; next < words.size(); ++next) {
    const bool parted = !name.empty() && name.unknown_at(name.size() - 1);
    if (!parted || !words[next].unknown_at(0)) break;
    name.add(' ', name.line(), true);
    name.add(words[next]);
  }
  return name;
}

// Names to try: all of it, or what is known behind an unknown folder.
std::vector<std::string> candidates(const MarkedText& name) {
  if (!name.unknown()) return {name.text()};
  std::size_t known = name.size();
  while (known > 0 && !name.unknown_at(known - 1)) --known;
  const std::size_t slash = name.text().find('/', known);
  if (slash == std::string::npos) return {};
  const std::size_t begin = name.text().find_first_not_of('/', slash);
  if (begin == std::string::npos) return {};
  const std::string tail = name.text().substr(begin);
  return {tail, tail.substr(tail.rfind('/') + 1)};
}

// Returns false if the file is not there. `arguments`: the file's own; nothing: it has those around
// it.
bool read_file(const MarkedText& name, std::optional<std::vector<MarkedText>> arguments,
               ShellState& state, int line, int depth) {
  for (const std::string& candidate : candidates(name)) {
    const auto& open = state.sourcing;
    if (std::find(open.begin(), open.end(), candidate) != open.end()) return true;
    const auto text = state.read && !candidate.empty() ? state.read(candidate) : std::nullopt;
    if (!text) continue;
    constexpr std::size_t kLeastFile = 256;  // so that empty files cannot be read without end
    state.count(text->size() + kLeastFile, line);
    state.sourcing.push_back(candidate);
    std::optional<ShellArguments> kept;
    if (arguments) {
      kept = std::exchange(state.arguments, ShellArguments{std::move(arguments), 0, ""});
    }
    read_shell_commands(MarkedText::on_line(*text, line), state, depth + 1);
    if (kept) state.arguments = std::move(*kept);
    state.sourcing.pop_back();
    return true;
  }
  return false;
}

std::vector<MarkedText> words_from(const std::vector<MarkedText>& words, std::size_t first) {
  return {words.begin() + static_cast<std::ptrdiff_t>(first), words.end()};
}

}  // namespace

void read_sourced_file(const std::vector<MarkedText>& words, ShellState& state, int depth) {
  std::size_t next = 2;
  const MarkedText name = name_in(words, next);
  std::optional<std::vector<MarkedText>> arguments;
  if (next < words.size()) arguments = words_from(words, next);
  const int line = words.front().line();
  if (read_file(name, std::move(arguments), state, line, depth)) return;
  state.script.not_sourced.push_back({name.text(), line});
}

bool read_started_script(const std::vector<MarkedText>& words, std::size_t at, ShellState& state,
                         int depth) {
  const MarkedText& word = words[at];
  const std::size_t begin = word.text().starts_with("./") ? 2 : 0;
  return read_file(word.part(begin, word.size()), words_from(words, at + 1), state,
                   words.front().line(), depth);
}

}  // namespace meshwright::interop
