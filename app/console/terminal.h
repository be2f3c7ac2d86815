// SPDX-License-Identifier: Apache-2.0
// What the user reads: the result on standard output, everything else on standard error. Control
// characters, which a name in somebody's file may hold, are shown and not obeyed. A failed write
// does not stop the work; the program looks for it once, at its end.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

namespace meshwright::app {

// Where a run writes: its result, and everything else.
struct Streams {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
};

// While it lives, all functions below write to these streams, and no write has failed before. They
// may nest. Without one, functions write to the streams of the process.
class StreamsInUse {
 public:
  explicit StreamsInUse(const Streams& streams);
  ~StreamsInUse();
  StreamsInUse(const StreamsInUse&) = delete;
  StreamsInUse& operator=(const StreamsInUse&) = delete;

 private:
  Streams before_;
  int failure_;
};

// Control characters and those that turn the reading direction as \u001b; newlines and tabs stay.
// JSON stays JSON of the same content.
std::string printable(std::string_view text);

void print_text(std::string_view text);  // the result
void say_text(std::string_view text);    // progress, warnings, errors

// Characters in a line of standard output. Where that is no terminal: COLUMNS, else 120.
std::size_t terminal_width();

// On a terminal in colour, unless NO_COLOR is set to something (no-color.org) or TERM is "dumb".
enum class Style { plain, heading, good, warning };
void print_styled(Style style, std::string_view text);
// Returns the text that print_styled() writes; `colours` tells whether colours are on.
std::string styled(Style style, std::string_view text, bool colours);

template <typename... Values>
void print(fmt::format_string<Values...> text, Values&&... values) {
  print_text(fmt::format(text, std::forward<Values>(values)...));
}
template <typename... Values>
void say(fmt::format_string<Values...> text, Values&&... values) {
  say_text(fmt::format(text, std::forward<Values>(values)...));
}

// Shows progress as a line of standard error that the next one replaces; an empty text removes it.
// Does nothing if standard error is no terminal.
void show_progress(std::string_view text);

// Sends out what is buffered. 0, or the errno of the first write to standard output that failed.
int flush_standard_output();

}  // namespace meshwright::app
