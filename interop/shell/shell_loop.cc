// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_loop.h"

#include <algorithm>
#include <string>
#include <vector>

#include "interop/shell/shell_reader.h"
#include "interop/shell/shell_words.h"
#include "sim/base/text.h"

namespace meshwright::interop {
namespace {

constexpr std::size_t kMostWords = 200;
constexpr std::size_t kLeastCost = 256;  // so that loops in loops end

// Words of a body that starts something, and of one that may leave the loop: it is read as before.
constexpr std::string_view kStarts[] = {"torchrun", "torch.", "python",    "srun",
                                        "mpirun",   "sbatch", "deepspeed", "accelerate"};
constexpr std::string_view kLeaves[] = {"break", "continue", "exit", "return"};

template <std::size_t N>
bool has_any(const std::string& text, const std::string_view (&words)[N]) {
  return std::any_of(std::begin(words), std::end(words),
                     [&](std::string_view word) { return contains(text, word); });
}

// "serve --port $p & done": what the body starts runs side by side, not one after the other.
bool runs_in_the_background(std::string_view body) {
  while (!body.empty() && contains(" \t\n;", body.substr(body.size() - 1))) body.remove_suffix(1);
  return body.ends_with('&') && !body.ends_with("&&");
}

void skip_separators(ShellCursor& c) {
  while (!c.done() &&
         (c.here() == ' ' || c.here() == '\t' || c.here() == ';' || c.here() == '\n')) {
    c.advance();
  }
}

// The place of the "done" that ends the loop whose body begins at the cursor; 0: none is found.
std::size_t end_of_body(ShellCursor c) {
  int depth = 1;
  char quote = '\0';
  while (!c.done()) {
    const char here = c.here();
    if (here == '\\') {
      c.advance(2);
      continue;
    }
    if (quote != '\0' || here == '\'' || here == '"') {
      if (quote == '\0') {
        quote = here;
      } else if (here == quote) {
        quote = '\0';
      }
      c.advance();
      continue;
    }
    const std::size_t begin = c.place();
    const std::string word = c.take_name();
    if (word == "for" || word == "while" || word == "until" || word == "select") ++depth;
    if (word == "done" && --depth == 0) return begin;
    if (word.empty()) c.advance();
  }
  return 0;
}

}  // namespace

bool read_for_loop(ShellCursor& cursor, ShellState& state, int depth) {
  if (!state.live()) return false;
  ShellCursor c = cursor;
  const int line = c.line();
  c.skip_blanks();
  const std::string name = c.take_name();
  c.skip_blanks();
  if (name.empty() || state.given.contains(name) || c.take_name() != "in") return false;
  std::vector<MarkedText> words;
  for (c.skip_blanks(); !c.done() && !ends_command(c.here()); c.skip_blanks()) {
    for (MarkedText& word : read_shell_word(c, state, depth)) words.push_back(std::move(word));
  }
  skip_separators(c);
  if (c.take_name() != "do") return false;
  const std::size_t end = end_of_body(c);
  if (end == 0 || words.size() > kMostWords) return false;
  const MarkedText body = c.text().part(c.place(), end);
  const bool runs = has_any(body.text(), kLeaves) ||
                    (has_any(body.text(), kStarts) && !runs_in_the_background(body.text()));
  const bool unknown = std::any_of(words.begin(), words.end(),
                                   [](const MarkedText& word) { return word.unknown(); });
  if (runs || unknown) return false;
  for (const MarkedText& word : words) {
    state.variables[name] = {{word}};
    state.causes.erase(name);
    state.count(body.size() + kLeastCost, line);
    read_shell_commands(body, state, depth + 1);
  }
  c.move_to(end + std::string_view("done").size());
  cursor.move_to(c.place());
  return true;
}

}  // namespace meshwright::interop
