// SPDX-License-Identifier: Apache-2.0
#include "interop/shell/shell_words.h"

#include <utility>

#include "interop/shell/shell_expansion.h"

namespace meshwright::interop {
namespace {

enum class As { words, one, pattern };

bool is_special(char c) { return c == '*' || c == '?' || c == '[' || c == '\\'; }

// Quoted text, or a value, in a pattern. A value without quotes keeps its patterns.
void add_escaped(MarkedText& out, const MarkedText& text, bool quoted) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text.at(i);
    if (c == '\\' || (quoted && is_special(c))) out.add('\\', text.line_at(i));
    out.add(c, text.line_at(i), text.unknown_at(i));
  }
}

class WordReader {
 public:
  WordReader(ShellCursor& cursor, ShellState& state, int depth, As as)
      : c_(cursor), s_(state), depth_(depth), as_(as) {}

  std::vector<MarkedText> read() {
    while (!c_.done() && !ends_word(c_.here())) {
      if (c_.skip_continuation()) continue;
      read_piece();
    }
    if (there_) words_.push_back(std::move(word_));
    return std::move(words_);
  }

 private:
  void read_piece() {
    const char c = c_.here();
    if (c == '$' || c == '`') return add(read_expansion(c_, s_, depth_, false));
    if (c == '"') return read_double_quotes();
    there_ = true;
    if (c == '\'') return read_single_quotes();
    const bool escaped = c == '\\';
    if (escaped) c_.advance();
    if (!c_.done()) take(escaped);
  }

  // One character; `quoted` keeps it plain in a pattern.
  void take(bool quoted) {
    if (as_ == As::pattern && quoted && is_special(c_.here())) word_.add('\\', c_.line());
    c_.take(word_);
  }
  void take_value(const ShellExpansion& value, bool quoted) {
    if (as_ != As::pattern) return join_expansion(word_, value);
    MarkedText text;
    join_expansion(text, value);
    add_escaped(word_, text, quoted);
  }

  // Blanks in an expansion part words; the first and the last piece join what stands beside them.
  void add(const ShellExpansion& value) {
    if (as_ != As::words) {
      take_value(value, false);
      there_ = true;
      return;
    }
    for (const MarkedText& part : value.words) {
      const std::vector<MarkedText> fields = part.fields();
      for (std::size_t i = 0; i < fields.size(); ++i) {
        const bool new_word = i > 0 || (&part != value.words.data() && there_);
        if (new_word) words_.push_back(std::exchange(word_, {}));
        word_.add(fields[i]);
        there_ = true;
      }
    }
  }

  void read_single_quotes() {
    const int first = c_.line();
    c_.advance();
    while (!c_.done() && c_.here() != '\'') take(true);
    close_quote(first);
  }

  // There is a word, but of "${A[@]}" of an empty array.
  void read_double_quotes() {
    const int first = c_.line();
    bool there = true;
    c_.advance();
    while (!c_.done() && c_.here() != '"') {
      if (c_.skip_continuation()) continue;
      const char next = c_.ahead();
      if (c_.here() == '\\' && (next == '"' || next == '\\' || next == '$' || next == '`')) {
        c_.advance();
        take(true);
      } else if (c_.here() == '$' || c_.here() == '`') {
        const ShellExpansion value = read_expansion(c_, s_, depth_, true);
        if (value.array) there = !value.words.empty() || !word_.empty();
        add_quoted(value);
      } else {
        take(true);
      }
    }
    close_quote(first);
    there_ = there || there_;
  }

  // In an assignment, "${A[@]}" is one word.
  void add_quoted(const ShellExpansion& value) {
    if (!value.array || as_ != As::words) return take_value(value, true);
    for (std::size_t i = 0; i < value.words.size(); ++i) {
      if (i > 0) words_.push_back(std::exchange(word_, {}));
      word_.add(value.words[i]);
    }
  }

  void close_quote(int first) {
    if (c_.done()) s_.fail(first, "the quote that begins here is never closed");
    c_.advance();
  }

  ShellCursor& c_;
  ShellState& s_;
  int depth_;
  As as_;
  std::vector<MarkedText> words_;
  MarkedText word_;
  bool there_ = false;
};

}  // namespace

std::vector<MarkedText> read_shell_word(ShellCursor& cursor, ShellState& state, int depth,
                                        bool splits) {
  return WordReader(cursor, state, depth, splits ? As::words : As::one).read();
}

MarkedText read_shell_pattern(ShellCursor& cursor, ShellState& state, int depth) {
  MarkedText pattern;
  for (const MarkedText& word : WordReader(cursor, state, depth, As::pattern).read()) {
    pattern.add(word);
  }
  return pattern;
}

MarkedText without_escapes(const MarkedText& pattern) {
  MarkedText text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern.at(i) == '\\' && i + 1 < pattern.size()) ++i;
    text.add(pattern.at(i), pattern.line_at(i), pattern.unknown_at(i));
  }
  return text;
}

MarkedText read_operand(const MarkedText& typed, ShellState& state, int depth, bool pattern,
                        bool quoted) {
  state.check_depth(depth, typed.line());
  ShellCursor cursor(typed);
  MarkedText out;
  bool in_double = false, in_single = false;
  while (!cursor.done()) {
    const char c = cursor.here();
    const bool single = c == '\'' && !in_double && (pattern || !quoted);
    if (single || (c == '"' && !in_single)) {
      bool& inside = single ? in_single : in_double;
      inside = !inside;
      cursor.advance();
    } else if (!in_single && (c == '$' || c == '`')) {
      MarkedText value;
      join_expansion(value, read_expansion(cursor, state, depth, in_double || quoted));
      if (pattern) add_escaped(out, value, in_double);
      if (!pattern) out.add(value);
    } else {
      const bool escape = c == '\\' && !in_single && cursor.ahead() != '\0';
      if (escape) cursor.advance();
      const bool plain = escape || in_single || in_double;
      if (pattern && plain && is_special(cursor.here())) out.add('\\', cursor.line());
      cursor.take(out);
    }
  }
  return out;
}

std::vector<MarkedText> read_shell_array(ShellCursor& cursor, ShellState& state, int depth) {
  const int first = cursor.line();
  cursor.advance();
  std::vector<MarkedText> words;
  while (true) {
    cursor.skip_blanks();
    if (cursor.done()) state.fail(first, "the array that begins here is never closed");
    if (cursor.here() == ')') break;
    if (cursor.here() == '\n') {
      cursor.advance();
    } else if (cursor.here() == '#') {
      cursor.skip_line();
    } else if (ends_word(cursor.here())) {
      state.fail(cursor.line(), fmt::format("'{}' in an array is not understood", cursor.here()));
    } else {
      for (MarkedText& word : read_shell_word(cursor, state, depth))
        words.push_back(std::move(word));
    }
  }
  cursor.advance();
  return words;
}

}  // namespace meshwright::interop
