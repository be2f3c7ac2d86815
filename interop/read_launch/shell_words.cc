// SPDX-License-Identifier: Apache-2.0
#include "interop/read_launch/shell_words.h"

#include <utility>

#include "interop/read_launch/shell_expansion.h"

namespace meshwright::interop {
namespace {

class WordReader {
 public:
  WordReader(ShellCursor& cursor, ShellState& state, int depth, bool splits)
      : c_(cursor), s_(state), depth_(depth), splits_(splits) {}

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
    if (c == '\\') c_.advance();
    if (!c_.done()) c_.take(word_);
  }

  // Blanks in an expansion part words; the first and the last piece join what stands beside them.
  void add(const ShellExpansion& value) {
    if (!splits_) {
      join_expansion(word_, value);
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
    while (!c_.done() && c_.here() != '\'') c_.take(word_);
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
        c_.take(word_);
      } else if (c_.here() == '$' || c_.here() == '`') {
        const ShellExpansion value = read_expansion(c_, s_, depth_, true);
        if (value.array) there = !value.words.empty() || !word_.empty();
        add_quoted(value);
      } else {
        c_.take(word_);
      }
    }
    close_quote(first);
    there_ = there || there_;
  }

  void add_quoted(const ShellExpansion& value) {
    if (!value.array) return join_expansion(word_, value);
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
  bool splits_;
  std::vector<MarkedText> words_;
  MarkedText word_;
  bool there_ = false;
};

}  // namespace

std::vector<MarkedText> read_shell_word(ShellCursor& cursor, ShellState& state, int depth,
                                        bool splits) {
  return WordReader(cursor, state, depth, splits).read();
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
