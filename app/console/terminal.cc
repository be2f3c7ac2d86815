// SPDX-License-Identifier: Apache-2.0
#include "app/console/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "sim/base/utf8.h"

namespace meshwright::app {
namespace {

Streams streams;
int first_failure = 0;

bool is_terminal(std::FILE* stream) { return ::isatty(::fileno(stream)) != 0; }

bool changes_a_terminal(char32_t code) {
  const bool is_control = code < 0x20 ? code != '\n' && code != '\t' : code >= 0x7F && code <= 0x9F;
  const bool turns = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  return is_control || turns;
}

}  // namespace

StreamsInUse::StreamsInUse(const Streams& in_use) : before_(streams), failure_(first_failure) {
  streams = in_use;
  first_failure = 0;
}

StreamsInUse::~StreamsInUse() {
  streams = before_;
  first_failure = failure_;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = first_character(text);
    const bool ends_line_of_csv = text.starts_with("\r\n");
    if (changes_a_terminal(code) && !ends_line_of_csv) {
      shown += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    } else {
      shown += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

namespace {

bool colours_wanted() {
  const auto set_to = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::string_view(value == nullptr ? "" : value);
  };
  return is_terminal(streams.out) && set_to("NO_COLOR").empty() && set_to("TERM") != "dumb";
}

void write_to_standard_output(const std::string& shown) {
  errno = 0;
  const bool whole = std::fwrite(shown.data(), 1, shown.size(), streams.out) == shown.size();
  if (!whole && first_failure == 0) first_failure = errno;
}

}  // namespace

void print_text(std::string_view text) { write_to_standard_output(printable(text)); }

std::size_t terminal_width() {
  constexpr std::size_t kUnknown = 120;
  winsize size{};
  if (!is_terminal(streams.out) || ::ioctl(::fileno(streams.out), TIOCGWINSZ, &size) != 0) {
    const char* const set = std::getenv("COLUMNS");
    const long columns = set == nullptr ? 0 : std::strtol(set, nullptr, 10);
    return columns > 0 ? static_cast<std::size_t>(columns) : kUnknown;
  }
  return size.ws_col > 0 ? size.ws_col : kUnknown;
}

std::string styled(Style style, std::string_view text, bool colours) {
  std::string shown = printable(text);
  if (!colours || style == Style::plain) return shown;
  const char* const code = style == Style::heading ? "1" : style == Style::good ? "1;32" : "33";
  const bool ends_line = shown.ends_with('\n');
  return fmt::format("\x1b[{}m{}\x1b[0m{}", code,
                     std::string_view(shown).substr(0, shown.size() - (ends_line ? 1 : 0)),
                     ends_line ? "\n" : "");
}

void print_styled(Style style, std::string_view text) {
  write_to_standard_output(styled(style, text, colours_wanted()));
}

void say_text(std::string_view text) {
  flush_standard_output();  // where both are one, what was printed before stands before
  const std::string shown = printable(text);
  // Standard error that is gone leaves nobody to tell.
  [[maybe_unused]] const std::size_t written =
      std::fwrite(shown.data(), 1, shown.size(), streams.err);
}

void show_progress(std::string_view text) {
  if (!is_terminal(streams.err)) return;
  const std::string line = fmt::format("\r\x1b[K{}", printable(text));
  [[maybe_unused]] const std::size_t written =
      std::fwrite(line.data(), 1, line.size(), streams.err);
  std::fflush(streams.err);
}

int flush_standard_output() {
  errno = 0;
  const bool failed = std::fflush(streams.out) != 0 || std::ferror(streams.out) != 0;
  if (failed && first_failure == 0) first_failure = errno != 0 ? errno : EIO;
  return first_failure;
}

}  // namespace meshwright::app
